import PresenceCore
import PresenceProtocol
import Redis

/// A user's notifications as they were read: the newest, and all unseen ones.
struct NotificationReading {
    struct Item {
        let seq: Int64
        let isRead: Bool
        /// As JSON without the last brace; empty if the reader was told it.
        let json: [UInt8]

        /// The object, with whether it is read.
        var object: [UInt8] { json + Array((isRead ? #","read":true}"# : "}").utf8) }
    }

    let counts: NotificationCounts
    /// The newest seq that was given.
    let last: Int64
    /// Newest first.
    let items: [Item]

    /// `nil` for what the script does not reply.
    init?(_ value: RedisValue) {
        let words = value.array ?? []
        guard words.count >= 7, words[0].string == "OK", let counts = NotificationCounts(words[1..<6]),
            let last = words[6].int
        else { return nil }
        self.counts = counts
        self.last = last
        items = stride(from: 7, to: words.count - 2, by: 3).compactMap { place in
            guard let seq = words[place].int, let state = words[place + 1].string else { return nil }
            return Item(seq: seq, isRead: state == "r", json: NotificationItem.readable(words[place + 2].bytes ?? []))
        }
    }

    /// Of a subscription: what comes before its items.
    var head: [UInt8] {
        var json: [UInt8] = []
        counts.write(to: &json)
        json[0] = UInt8(ascii: "{")
        return json
    }

    /// What brings a reader here who was told all up to a seq: each newer notification, oldest first, then what there is.
    func messages(after told: Int64) -> [[UInt8]] {
        let news = items.filter { $0.seq > told && !$0.json.isEmpty }.reversed().map { item in
            NotificationMessage.notification(item.json, counts, replaces: [])
        }
        let read = items.filter(\.isRead).map(\.seq)
        return news + [NotificationMessage.counts(counts, read: read, kept: items.map(\.seq))]
    }
}
