import Foundation

extension PresenceClient {
    /// A report to the operators, about a user, a conversation, or a message in it.
    public struct Report: Codable, Hashable, Sendable {
        /// The reported user. With a message it is the sender, and may be omitted.
        public var user: String?
        /// The reported conversation, or that of the message.
        public var conversation: String?
        /// The id of the reported message.
        public var message: String?
        /// Why, in a word of the app's own choice, such as `spam`: 1 to 100 characters.
        public var reason: String
        /// The user's words, at most 2,000 characters.
        public var text: String?

        /// Reports a user.
        public init(user: String, reason: String, text: String? = nil) {
            (self.user, self.reason, self.text) = (user, reason, text)
        }

        /// Reports a conversation, a message in it, or a member.
        ///
        /// - Parameters:
        ///   - message: the id of a message.
        ///   - user: a member; of a message its sender.
        public init(
            conversation: String, message: String? = nil, user: String? = nil, reason: String, text: String? = nil
        ) {
            (self.conversation, self.message, self.user) = (conversation, message, user)
            (self.reason, self.text) = (reason, text)
        }
    }

    /// Reports something to the operators. They get the message as it is now, also if it is changed or deleted later.
    ///
    /// - Returns: the report's id; the former one if the user has reported the same before.
    /// - Throws: `notFound` if there is no such thing, or this user does not see it; `validationFailed` with `field`;
    ///   `rateLimited` beyond some ten reports an hour; `unavailable`; `notConnected`, `connectionLost`.
    @discardableResult
    public func report(_ report: Report) async throws -> String {
        struct Answer: Decodable {
            struct Report: Decodable { var id: String }
            var report: Report
        }
        do {
            // The server recognizes a repeated report.
            return try await send(.init("POST", "v1/reports", json: report, isRepeatable: true), as: Answer.self).report
                .id
        } catch let error as PresenceError where error.code == .notOffered {
            throw PresenceError(.notFound, error.message)
        }
    }
}
