import PresenceCore
import PresenceProtocol

extension Notifications {
    static let keep = Setting<Int>(
        "notifications.keep", 200, in: 1...500,
        about: "How many notifications of a user are kept; the oldest are removed. One takes the size of its text and "
            + "data, and some 100 bytes of Redis' memory. As many ids of replaced and archived ones are remembered.")
    static let keepFor = Setting<Milliseconds>(
        "notifications.keepFor", 30 * 24 * 3_600_000, in: 60_000...366 * 24 * 3_600_000,
        about: "How long notifications are kept. Afterwards an id counts as new again.")
    /// The most users whom one request may notify. More users would take longer, and wait for each other.
    static let recipients = 1_000
    static let calls = Setting<Int>(
        "notifications.calls", 16, in: 1...1_000,
        about: "How many requests that notify run at a time on one shard; more of them are answered 503. Each has up "
            + "to 8 scripts pending in Redis.")

    static let ofMessages = Setting<Bool>(
        "notifications.ofMessages", false,
        about: "Whether users who are truly away get notifications of messages, one for each conversation. The server "
            + "decides who is away as for pushes, even without pushes.")

    static let settings: [any AnySetting] = [keep, keepFor, calls, ofMessages]
}
