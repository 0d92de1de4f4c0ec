import PresenceCore
import PresenceProtocol
import Redis

/// The numbers of a user's notifications, as sessions get them; of two, the one with the larger version counts.
struct NotificationCounts: Equatable {
    var version: Int64
    var unseen: Int64
    var unread: Int64
    /// The newest seq that the user has seen.
    var seen: Int64
    /// The seq of the oldest notification that is kept.
    var first: Int64

    /// `version, unseen, unread, seen, first`, as the scripts reply.
    init?(_ words: ArraySlice<RedisValue>) {
        let numbers = words.compactMap(\.int)
        guard numbers.count == 5 else { return nil }
        (version, unseen, unread, seen, first) = (numbers[0], numbers[1], numbers[2], numbers[3], numbers[4])
    }

    fileprivate init?(version: Int64, _ words: ArraySlice<ArraySlice<UInt8>>) {
        let numbers = words.compactMap { Int64(String(decoding: $0, as: UTF8.self)) }
        guard numbers.count == 4 else { return nil }
        self.version = version
        (unseen, unread, seen, first) = (numbers[0], numbers[1], numbers[2], numbers[3])
    }

    /// Appends the members; the first one with a comma if something precedes it.
    func write(to json: inout [UInt8]) {
        JSONWriter.member("version", version, to: &json)
        JSONWriter.member("unseen", unseen, to: &json)
        JSONWriter.member("unread", unread, to: &json)
        JSONWriter.member("seen", seen, to: &json)
        JSONWriter.member("first", first, to: &json)
    }
}

/// An event of a user's notifications, as scripts publish it (`Scripts/notification-lib.lua`).
struct NotificationEvent {
    let counts: NotificationCounts
    /// The version before this event.
    let previous: Int64
    /// The session that asked for the change, or `-`.
    let session: String
    let replaces: [Int64]
    let read: [Int64]
    let archived: [Int64]
    /// The new notification, as JSON without the last brace; empty if there is none.
    let item: [UInt8]
    /// The new notification's seq.
    let seq: Int64

    /// `nil` for an event that no script of ours publishes.
    init?(_ event: StoreEvent) {
        let words = Array(event.rest).split(separator: 0x20, maxSplits: 9, omittingEmptySubsequences: false)
        guard words.count == 10, let previous = Int64(String(decoding: words[0], as: UTF8.self)),
            let counts = NotificationCounts(version: event.version, words[1..<5])
        else { return nil }
        self.previous = previous
        self.counts = counts
        session = String(decoding: words[5], as: UTF8.self)
        (replaces, read, archived) = (Self.list(words[6]), Self.list(words[7]), Self.list(words[8]))
        item = NotificationItem.readable(Array(words[9]))
        // `{"seq":12,"id":…`
        let digits = item.dropFirst(7).prefix { (0x30...0x39).contains($0) }
        seq = Int64(String(decoding: digits, as: UTF8.self)) ?? 0
    }

    private static func list(_ word: ArraySlice<UInt8>) -> [Int64] {
        word.split(separator: 0x2C).compactMap { Int64(String(decoding: $0, as: UTF8.self)) }
    }

    /// The message to the user's other sessions.
    var message: [UInt8] {
        item.isEmpty
            ? NotificationMessage.counts(counts, read: read, archived: archived)
            : NotificationMessage.notification(item, counts, replaces: replaces)
    }
}

/// The messages to clients.
enum NotificationMessage {
    static func notification(_ item: [UInt8], _ counts: NotificationCounts, replaces: [Int64]) -> [UInt8] {
        var json = Array(#"{"type":"notification","notification":"#.utf8) + item + [0x7D]
        counts.write(to: &json)
        if !replaces.isEmpty { list("replaces", replaces, to: &json) }
        return json + [0x7D]
    }

    /// - Parameter kept: All of the shown notifications that the user still has; `nil`: only the messages that follow
    ///   show changes.
    static func counts(
        _ counts: NotificationCounts, id: Int64? = nil, read: [Int64] = [], archived: [Int64] = [],
        kept: [Int64]? = nil
    ) -> [UInt8] {
        var json: [UInt8] = []
        ServerMessageWriter.begin("notificationCounts", id: id, to: &json)
        counts.write(to: &json)
        if !read.isEmpty { list("read", read, to: &json) }
        if !archived.isEmpty { list("archived", archived, to: &json) }
        if let kept { list("kept", kept, to: &json) }
        return json + [0x7D]
    }

    /// As much of a page as fits into one message: the client then requests what is before the last notification in it.
    static func page(_ reading: NotificationReading, id: Int64?, limit: Int) -> [UInt8] {
        var json: [UInt8] = []
        ServerMessageWriter.begin("notifications", id: id, to: &json)
        reading.counts.write(to: &json)
        JSONWriter.key("items", to: &json)
        json.append(UInt8(ascii: "["))
        var isFirst = true
        for item in reading.items where !item.json.isEmpty {
            let object = item.object
            guard isFirst || json.count + object.count + 3 <= limit else { break }
            if !isFirst { json.append(UInt8(ascii: ",")) }
            isFirst = false
            json += object
        }
        return json + Array("]}".utf8)
    }

    private static func list(_ name: StaticString, _ seqs: [Int64], to json: inout [UInt8]) {
        JSONWriter.key(name, to: &json)
        json += Array(("[" + seqs.map { String($0) }.joined(separator: ",") + "]").utf8)
    }
}
