import Foundation

/// Whether what an element shows is the truth of this moment.
public enum Freshness: Codable, Hashable, Sendable {
    /// The server tells every change at once.
    case live
    /// It was the truth at `since` (by the server's clock; `distantPast` if it never was known) and may have changed. It
    /// becomes live again by itself, unless the element has a `problem`.
    case stale(since: Date)

    /// Whether this is ``live``.
    public var isLive: Bool { self == .live }

    /// Since when the value may be out of date; `nil` if it is live.
    public var staleSince: Date? {
        if case .stale(let since) = self { since } else { nil }
    }

    /// Of what is not known.
    public static let unknown = Freshness.stale(since: .distantPast)
}
