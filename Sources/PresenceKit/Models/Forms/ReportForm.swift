import Foundation
import Observation

extension PresenceClient.Report {
    /// The form of a report.
    @MainActor @Observable
    public final class Form {
        /// The most characters of ``text``.
        public static let maximumLength = 2_000

        /// Why, in one of the app's own words, such as `spam`: 1 to 100 characters.
        public var reason = "" { didSet { if reason != oldValue { errorMessage = nil } } }
        /// The user's words; cut to the maximum length while they are typed.
        public var text: String {
            get { held }
            set {
                held = String(newValue.prefix(Self.maximumLength))
                errorMessage = nil
            }
        }
        /// Whether the reported user is blocked as well.
        public var blocksUser = false
        /// Whether the report is being sent.
        public private(set) var isSending = false
        /// Whether the operators have it.
        public private(set) var isSent = false
        /// Why it could not be sent, as a text for users.
        public private(set) var errorMessage: String?
        /// A text for users once it is sent.
        public var message: String? { isSent ? Sentence.reported.text() : nil }
        /// Whether it can be sent.
        public var canSend: Bool { (1...100).contains(reason.count) && !isSending && !isSent }

        private let subject: PresenceClient.Report
        private let client: PresenceClient
        private var held = ""

        /// - Parameters:
        ///   - subject: what is reported; its reason and text are the first values of the fields.
        ///   - client: the signed-in user's.
        public init(_ subject: PresenceClient.Report, client: PresenceClient) {
            (self.subject, self.client) = (subject, client)
            reason = subject.reason
            held = subject.text ?? ""
        }

        /// Sends the report, and then blocks its user if that is wanted. A repetition after a failure is one report.
        public func send() async {
            guard canSend else { return }
            (isSending, errorMessage) = (true, nil)
            defer { isSending = false }
            var report = subject
            report.reason = reason
            report.text = held.isEmpty ? nil : held
            errorMessage = await failure {
                try await client.report(report)
                if blocksUser, let user = subject.user { try await client.block([user]) }
                isSent = true
            }
        }
    }
}
