import Foundation

/// Whether what an element shows is the truth of this moment.
public enum Freshness: Hashable, Sendable {
    /// The server tells every change at once.
    case live
    /// It was the truth at `since` (by the server's clock) and may have changed; it becomes live again by itself.
    case stale(since: Date)
    /// The server or this library refused to watch it: a malformed id, a conversation of others, too many people.
    case refused(PresenceError)

    /// Whether this is ``live``.
    public var isLive: Bool { self == .live }

    /// Since when the value may be out of date; `nil` if it is live or was refused.
    public var staleSince: Date? {
        if case .stale(let since) = self { since } else { nil }
    }
}
