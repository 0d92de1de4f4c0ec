import PresenceKit

/// The typing users of a conversation as a JSON object.
struct TypingRecord: Encodable, Hashable, Sendable {
    var type = "typing"
    var conversation: String
    var users: [String]
    /// The number of users typing beyond those in ``users``.
    var more: Int
    var live: Bool
    var staleSince: Int64?
    /// When the newest change was made, in milliseconds since 1970.
    var at: Int64?
    /// How long it took to arrive, in milliseconds.
    var latency: Double?

    init(_ typing: Typing) {
        conversation = typing.conversation
        users = typing.users
        more = typing.othersCount
        live = typing.freshness.isLive
        staleSince = typing.freshness.staleSince?.milliseconds
        at = typing.arrival?.madeAt.milliseconds
        latency = typing.arrival?.latency.milliseconds
    }
}
