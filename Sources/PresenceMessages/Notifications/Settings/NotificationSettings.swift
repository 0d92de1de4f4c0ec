import Foundation
import PresenceKit

/// The choice of what a user is notified of, and when, on all devices. The defaults notify of everything at once, with texts.
public struct NotificationSettings: Hashable, Sendable {
    /// How notifications of a kind reach the user.
    public struct Channels: Codable, Hashable, Sendable {
        /// Whether they are in the list (``PresenceNotifications/inbox``).
        public var inbox: Bool
        /// Whether they are pushed to devices.
        public var push: Bool

        /// Creates channels; by default both.
        public init(inbox: Bool = true, push: Bool = true) { (self.inbox, self.push) = (inbox, push) }
    }

    /// Which messages are pushed. Open: a later server may have further values.
    public struct Messages: RawRepresentable, Codable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        /// Every message, by the rules of pushes.
        public static let all = Self(rawValue: "all")
        /// None.
        public static let off = Self(rawValue: "none")
    }

    /// A time of a day.
    public struct Time: Hashable, Sendable {
        /// 0 to 23.
        public var hour: Int
        /// 0 to 59.
        public var minute: Int

        /// Creates a time.
        public init(_ hour: Int, _ minute: Int = 0) { (self.hour, self.minute) = (hour, minute) }
    }

    /// When nothing is pushed. Notifications that arrive meanwhile are one push at the end, and in the list at once.
    public struct QuietHours: Hashable, Sendable {
        /// An IANA name, such as `Europe/Berlin`.
        public var timezone: String
        /// When they begin.
        public var from: Time
        /// When they end: on the next day, unless it is later than ``from``. The same time is a day later.
        public var to: Time
        /// The days on which they begin: 1 is Monday, 7 is Sunday.
        public var days: Set<Int>
        /// Whether urgent notifications are pushed all the same.
        public var allowsUrgent: Bool

        /// Creates quiet hours; by default each night, in the device's time zone.
        public init(
            timezone: String = TimeZone.current.identifier, from: Time = Time(22), to: Time = Time(7),
            days: Set<Int> = Set(1...7), allowsUrgent: Bool = false
        ) {
            (self.timezone, self.from, self.to) = (timezone, from, to)
            (self.days, self.allowsUrgent) = (days, allowsUrgent)
        }
    }

    /// The kinds of notifications that a server has, and whether it has quiet hours.
    public struct Offer: Codable, Hashable, Sendable {
        /// A kind of notifications.
        public struct Kind: Codable, Hashable, Sendable, Identifiable {
            /// The same as ``kind``.
            public var id: String { kind }
            /// As in ``UserNotification/kind``.
            public var kind: String
            /// For users.
            public var name: String

            /// Creates a kind, for fakes and previews.
            public init(_ kind: String, name: String) { (self.kind, self.name) = (kind, name) }
        }

        /// In the operator's order.
        public var kinds: [Kind]
        /// Whether ``NotificationSettings/quiet`` can be set.
        public var quietHours: Bool

        /// Creates an offer, for fakes and previews.
        public init(kinds: [Kind] = [], quietHours: Bool = true) { (self.kinds, self.quietHours) = (kinds, quietHours) }
    }

    /// The kinds that the user has set; all others have both channels.
    public var kinds: [String: Channels]
    /// Which messages of conversations between two users are pushed.
    public var direct: Messages
    /// Which messages of groups are pushed.
    public var groups: Messages
    /// Whether pushes have names and texts.
    public var showsPreview: Bool
    /// When nothing is pushed; `nil` without quiet hours.
    public var quiet: QuietHours?
    /// Whether pushes wait while the user's status is busy.
    public var holdsWhileBusy: Bool
    /// Larger is newer.
    package var version: Int64 = 0

    /// Creates settings.
    public init(
        kinds: [String: Channels] = [:], direct: Messages = .all, groups: Messages = .all, showsPreview: Bool = true,
        quiet: QuietHours? = nil, holdsWhileBusy: Bool = false
    ) {
        (self.kinds, self.direct, self.groups) = (kinds, direct, groups)
        (self.showsPreview, self.quiet, self.holdsWhileBusy) = (showsPreview, quiet, holdsWhileBusy)
    }

    /// The channels of a kind.
    public func channels(of kind: String) -> Channels { kinds[kind] ?? Channels() }

    /// Checks what no server accepts.
    ///
    /// - Throws: `validationFailed` with the field `quiet.days`, `quiet.from`, `quiet.to` or `quiet.timezone`.
    func check() throws(PresenceError) {
        guard let quiet else { return }
        func isTime(_ time: Time) -> Bool { (0..<24).contains(time.hour) && (0..<60).contains(time.minute) }
        if quiet.timezone.isEmpty { throw .unusable("quiet.timezone") }
        if !isTime(quiet.from) { throw .unusable("quiet.from") }
        if !isTime(quiet.to) { throw .unusable("quiet.to") }
        if quiet.days.isEmpty || !quiet.days.isSubset(of: 1...7) { throw .unusable("quiet.days") }
    }
}

extension PresenceError {
    fileprivate static func unusable(_ field: String) -> PresenceError {
        let sentence = field == "quiet.days" ? Sentence.nightsMissing.text() : nil
        return PresenceError(.validationFailed, "\(field) is out of bounds", field: field, sentence: sentence)
    }
}
