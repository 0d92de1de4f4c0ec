import Foundation

/// Whether the values of an element are current.
public enum Freshness: Codable, Hashable, Sendable {
    /// Current: the server sends every change at once.
    case live
    /// The values were current at `since` (server's clock; `distantPast` if they were never known) and may have
    /// changed. The element becomes live again by itself, unless it has a `problem`.
    case stale(since: Date)

    /// Whether this is ``live``.
    public var isLive: Bool { self == .live }

    /// Since when the values may be outdated; `nil` if they are live.
    public var staleSince: Date? {
        if case .stale(let since) = self { since } else { nil }
    }

    /// The freshness of an unknown value.
    public static let unknown = Freshness.stale(since: .distantPast)
}
