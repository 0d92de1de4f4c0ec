import PresenceProtocol

/// Who may see the own user, as last heard. The server tells of changes, and of what is when it is asked: once a
/// connection, and only for somebody who looks.
struct OwnAudiences: Sendable {
    private(set) var held: MyAudiences?
    /// Whether the server was asked on this connection.
    private var hasAsked = false

    /// Whether that is news.
    mutating func hold(_ audiences: MyAudiences) -> Bool {
        guard held != audiences else { return false }
        held = audiences
        return true
    }

    mutating func ask() -> [Outgoing] {
        guard !hasAsked else { return [] }
        hasAsked = true
        return [Outgoing(.getVisibility, .ownVisibility(VisibilityLists()))]
    }

    /// The connection is gone.
    mutating func lose() { hasAsked = false }

    /// The user is another one.
    mutating func forget() { held = nil }
}
