import PresenceKit
import PresenceMessages

// Options of a server about people, and the data that operators see.
extension InMemoryServer {
    /// Whether users are found by the beginning of a name (`accounts.directory`).
    public var hasDirectory: Bool {
        get { state.withLock { $0.hasDirectory } }
        set { change { $0.hasDirectory = newValue } }
    }

    /// The kinds of notifications with names for users (`notifications.kinds`).
    public var notificationKinds: [NotificationSettings.Offer.Kind] {
        get {
            state.withLock { $0.kinds }.map { .init($0["kind"] as? String ?? "", name: $0["name"] as? String ?? "") }
        }
        set { change { $0.kinds = newValue.map { ["kind": $0.kind, "name": $0.name] } } }
    }

    /// The reports of users, oldest first: `by`, `user`, `conversation`, `message`, `reason`, `text`, as far as they have
    /// them, and `evidence`, the reported message as it was.
    public var reports: [[String: any Sendable]] { state.withLock { $0.reports } }

    /// The settings of a user's notifications, as the protocol has them.
    public func notificationSettings(of user: String) -> [String: any Sendable] {
        state.withLock { $0.settings(of: user) }
    }

    /// The contacts of a user, sorted by id.
    public func contacts(of user: String) -> [String] {
        state.withLock { state in
            state.users.first { $0.key.string == user }?.value.contacts.sorted().map(\.string) ?? []
        }
    }
}
