import Foundation
import Observation
import PresenceKit

extension Account {
    /// The user's own data on a screen: its download, and the deletion of the account.
    @MainActor @Observable
    public final class DataModel {
        /// The field for the password, which the deletion needs; guests have none. Cleared after use.
        public var password = "" { didSet { if password != oldValue { errorMessage = nil } } }
        /// Whether the deletion includes what the user wrote.
        public var deletesMessages = false
        /// Whether a download is in progress; see ``progress``.
        public private(set) var isExporting = false
        /// The share that has arrived, from 0 to 1; 0 while the server collects the data.
        public private(set) var progress = 0.0
        /// The last file that was written; `nil` before.
        public private(set) var exported: URL?
        /// Whether the account is being deleted.
        public private(set) var isDeleting = false
        /// Why the last operation failed, as a text for users.
        public private(set) var errorMessage: String?

        private let account: any AccountRepository
        private let client: PresenceClient
        private var exporting: Task<Void, any Error>?

        /// Creates a model of the signed-in user's data.
        public init(_ account: any AccountRepository, client: PresenceClient) {
            (self.account, self.client) = (account, client)
        }

        /// Writes all data that the server has of the user to a file, as ``PresenceKit/PresenceClient/exportData(to:progress:)``
        /// does, unless a download is in progress.
        public func export(to file: URL) async {
            guard !isExporting else { return }
            (isExporting, progress, errorMessage, exported) = (true, 0, nil, nil)
            defer { (isExporting, exporting) = (false, nil) }
            let task = Task { [client] in
                try await client.exportData(to: file) { share in
                    Task { @MainActor [weak self] in self?.advance(to: share) }
                }
            }
            exporting = task
            let fault = await failure {
                try await task.resultForCaller.get()
                exported = file
            }
            if let fault { errorMessage = fault }
        }

        private func advance(to share: Double) {
            if isExporting { progress = max(progress, share) }
        }

        /// Cancels the download; no file is written.
        public func cancelExport() { exporting?.cancel() }

        /// Deletes the account and signs out. Ask the user first: it cannot be undone.
        public func deleteAccount() async {
            guard !isDeleting else { return }
            (isDeleting, errorMessage) = (true, nil)
            defer { isDeleting = false }
            let fault = await failure {
                try await account.deleteAccount(
                    password: password.isEmpty ? nil : password, messages: deletesMessages ? .delete : .keep)
                password = ""
            }
            if let fault { errorMessage = fault }
        }
    }
}
