import Foundation
import PresenceProtocol

/// An observed conversation: its typing users, as last received.
struct HeldConversation: Watchable {
    var watch = Watch()
    private(set) var version: Int64 = 0
    private(set) var users: [UserID] = []
    private(set) var more = 0
    private(set) var arrival: Arrival?
    /// Whether anything was ever received.
    private(set) var isKnown = false

    /// Whether the server confirmed it on this connection.
    private(set) var isConfirmed = false
    private(set) var staleSince: Date?
    /// The watchlist's stamp of the last change of value or freshness.
    private(set) var stamp: UInt64 = 0

    mutating func replace(with snapshot: ServerMessage.ConversationSnapshot) {
        version = snapshot.version
        users = snapshot.typing
        more = 0
        arrival = nil
        isKnown = true
    }

    /// Applies an event; returns whether it was newer.
    mutating func apply(_ event: ServerMessage.TypingEvent, _ arrival: Arrival?) -> Bool {
        guard event.version == 0 || event.version > version else { return false }
        version = event.version
        users = event.users
        more = event.more
        self.arrival = arrival
        isKnown = true
        return true
    }

    /// The server has answered on this connection.
    mutating func confirm() {
        isConfirmed = true
        staleSince = nil
    }

    /// The connection has ended. Typing is short-lived, so it is not shown as stale.
    mutating func lose(at date: Date) -> Bool {
        watch.reset()
        guard isConfirmed else { return false }
        isConfirmed = false
        staleSince = date
        users = []
        more = 0
        arrival = nil
        return true
    }

    /// Another user signed in.
    mutating func forget(at date: Date) {
        _ = lose(at: date)
        version = 0
    }

    mutating func mark(_ part: PersonPart, stamp: UInt64) {
        self.stamp = stamp
    }
}
