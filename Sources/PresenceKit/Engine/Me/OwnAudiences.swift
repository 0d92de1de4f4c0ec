import PresenceProtocol

/// The user's visibility, as last received. The server sends changes, but the current settings only on request: once
/// per connection, and only if there is an observer.
struct OwnAudiences: Sendable {
    private(set) var held: Me.Audiences?
    /// Whether the settings were requested on this connection.
    private var hasAsked = false

    /// Returns whether the settings differ.
    mutating func hold(_ audiences: Me.Audiences) -> Bool {
        guard held != audiences else { return false }
        held = audiences
        return true
    }

    mutating func ask() -> [Outgoing] {
        guard !hasAsked else { return [] }
        hasAsked = true
        return [Outgoing(.getVisibility, .ownVisibility(VisibilityLists()))]
    }

    /// The connection has ended.
    mutating func lose() { hasAsked = false }

    /// The user changed.
    mutating func forget() { held = nil }
}
