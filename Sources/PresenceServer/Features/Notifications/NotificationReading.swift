import PresenceCore
import PresenceProtocol
import Redis

/// A reading of a user's notifications: the newest, and all unseen ones.
struct NotificationReading {
    struct Item {
        let seq: Int64
        let isRead: Bool
        /// As JSON without the last brace; empty if the reader has the notification.
        let json: [UInt8]

        /// The notification's object, including whether it is read.
        var object: [UInt8] { json + Array((isRead ? #","read":true}"# : "}").utf8) }
    }

    let counts: NotificationCounts
    /// The newest seq that was assigned.
    let last: Int64
    /// Newest first.
    let items: [Item]

    /// `nil` for a reply that the script does not give.
    init?(_ reply: ScriptReply) {
        guard reply.word == "OK", let counts = NotificationCounts(reply.rest.prefix(5)), let last = reply[5].int
        else { return nil }
        self.counts = counts
        self.last = last
        items = stride(from: 6, to: reply.count - 2, by: 3).compactMap { place in
            guard let seq = reply[place].int, let state = reply[place + 1].string else { return nil }
            return Item(seq: seq, isRead: state == "r", json: NotificationItem.readable(reply[place + 2].bytes ?? []))
        }
    }

    /// The beginning of a subscription's answer, before its items.
    var head: [UInt8] {
        var json: [UInt8] = []
        counts.write(to: &json)
        json[0] = UInt8(ascii: "{")
        return json
    }

    /// The messages for a reader who has all notifications up to a seq: each newer notification, oldest first, then the
    /// counts.
    func messages(after announced: Int64) -> [[UInt8]] {
        let news = items.filter { $0.seq > announced && !$0.json.isEmpty }.reversed().map { item in
            NotificationMessage.notification(item.json, counts, replaces: [])
        }
        let read = items.filter(\.isRead).map(\.seq)
        return news + [NotificationMessage.counts(counts, read: read, kept: items.map(\.seq))]
    }
}
