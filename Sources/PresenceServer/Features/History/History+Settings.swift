import PresenceCore
import PresenceProtocol

/// Settings of history. config/presenced.yaml has each with its description.
extension History {
    static let enabled = Setting<Bool>(
        "history.enabled", false,
        about: "Whether the server records when each user was online, busy and away, for backends to read.")
    static let keepFor = Setting<Milliseconds>(
        "history.keepFor", 7 * 24 * 3_600_000, in: 1_000...365 * 24 * 3_600_000,
        about: "How long after its end an interval is kept.")
    static let mostPerUser = Setting<Int>(
        "history.mostPerUser", 500, in: 1...10_000,
        about: "How many intervals of a user are kept at most; the oldest are removed first. One takes some 17 bytes "
            + "of Redis.")

    static let settings: [any AnySetting] = [enabled, keepFor, mostPerUser]
}

extension KeyFamily {
    /// A user's past statuses: a list, the oldest first.
    static let history = KeyFamily(name: "history", isPassing: false, type: "list", expires: true)
}

extension PartitionKeys {
    func history(_ id: UserID) -> String { key(.history, id) }
}
