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

/// A notification as Redis has it: JSON without the last brace.
enum NotificationItem {
    /// A notification in a form that clients can read. Earlier versions accepted `data` that is nested too deeply for clients:
    /// such `data` is left out, and the rest stays.
    static func readable(_ json: [UInt8]) -> [UInt8] {
        // The notification is one level, its data the next ones.
        guard ForeignJSON.depth(json) > ForeignJSON.deepest + 1 else { return json }
        let shallow = try? (json + [UInt8(ascii: "}")]).lend { (bytes) throws(DecodingFailure) in try members(of: bytes)
        }
        return shallow ?? json
    }

    private static func members(of bytes: UnsafeRawBufferPointer) throws(DecodingFailure) -> [UInt8] {
        var rest: [UInt8] = []
        var members = try RequestBody.object(bytes)
        try members.forEachMember { (key, value) throws(DecodingFailure) in
            guard !key.equals("data") else { return }
            rest += rest.isEmpty ? [UInt8(ascii: "{")] : [UInt8(ascii: ",")]
            write(key, to: &rest)
            rest.append(UInt8(ascii: ":"))
            write(value, to: &rest)
        }
        return rest
    }

    /// Writes the value as it is in the text.
    private static func write(_ value: JSONValue, to json: inout [UInt8]) {
        let quote = value.kind == .string ? [UInt8(ascii: "\"")] : []
        json += quote + Array(value.bytes) + quote
    }
}
