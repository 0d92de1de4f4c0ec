import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// An entry of a user's record of requests (`asked-lib.lua`).
struct AskedEntry {
    let user: UserID
    /// Whether the owner of the record has asked the user, and not the user the owner.
    let isTo: Bool
    let at: Timestamp
    let state: Substring
    /// As JSON, or empty.
    private let name: [UInt8]
    private let text: [UInt8]

    private static let separator: UInt8 = 0x1F

    /// `nil` for an entry that no script has written, and for the version.
    private init?(_ field: String, _ value: [UInt8]) {
        let (isFrom, isTo) = (field.hasPrefix("in:"), field.hasPrefix("out:"))
        let parts = value.split(separator: Self.separator, omittingEmptySubsequences: false)
        let head = String(decoding: parts[0], as: UTF8.self).split(separator: " ")
        guard isFrom || isTo, let user = UserID(String(field.dropFirst(isTo ? 4 : 3))), head.count == 3,
            let at = Timestamp(head[1])
        else { return nil }
        (self.user, self.isTo, self.at, state) = (user, isTo, at, head[2])
        name = isFrom && parts.count > 2 ? Array(parts[1]) : []
        text = parts.count > 1 ? Array(parts[isFrom && parts.count > 2 ? 2 : 1]) : []
    }

    /// All entries of a hash, the oldest first.
    static func all(in value: RedisValue) -> [AskedEntry] {
        let words = value.array ?? []
        let entries = stride(from: 0, to: words.count - 1, by: 2).compactMap { place in
            AskedEntry(words[place].string ?? "", words[place + 1].bytes ?? [])
        }
        return entries.sorted { ($0.at, $0.user) < ($1.at, $1.user) }
    }

    /// How long a request is open.
    private static let life: Milliseconds = 30 * 24 * 3_600_000

    /// Whether the owner of the record has still to answer it.
    func isOpen(at now: Timestamp) -> Bool { !isTo && state == "o" && at + Self.life > now }

    /// As the list has it.
    var listed: [UInt8] { json(user: "user") }
    var json: [UInt8] { json(user: isTo ? "to" : "from") }

    private func json(user key: String) -> [UInt8] {
        var json = Array("{\"\(key)\":".utf8)
        JSONWriter.string(user.string, to: &json)
        for (key, value) in [("displayName", name), ("text", text)] where !value.isEmpty {
            json += Array(",\"\(key)\":".utf8) + value
        }
        JSONWriter.member("at", at, to: &json)
        return json + [UInt8(ascii: "}")]
    }
}

/// The open requests in a user's record, the oldest first.
struct OpenContactRequests {
    /// Open requests to one user. With the longest names and texts they fit into one message of the default length.
    static let most = 100
    /// An upper bound for the message without its list, in bytes.
    private static let overhead = 256

    private let version: Int64
    private let requests: [[UInt8]]
    /// The state of a user without a record, as most users are.
    static let none = OpenContactRequests(.array([]), at: 0).own(bytes: .max)

    /// - Parameter value: The hash.
    init(_ value: RedisValue, at now: Timestamp) {
        let words = value.array ?? []
        let place = stride(from: 0, to: words.count - 1, by: 2).first { words[$0].string == "#" }
        version = place.flatMap { words[$0 + 1].int } ?? 0
        requests = AskedEntry.all(in: value).filter { $0.isOpen(at: now) }.map(\.listed)
    }

    /// `"requests":[…]`, with as many of the oldest as fit into so many bytes.
    func member(bytes most: Int = .max) -> [UInt8] {
        var (json, isFirst) = (Array(#""requests":["#.utf8), true)
        for request in requests {
            guard json.count + request.count < most else { break }
            if !isFirst { json.append(UInt8(ascii: ",")) }
            json += request
            isFirst = false
        }
        return json + [UInt8(ascii: "]")]
    }

    /// The message for the user's sessions, with at most so many bytes.
    func own(bytes most: Int) -> OwnState.Held {
        var json = Array(#"{"type":"contactRequests","#.utf8)
        json += member(bytes: most - Self.overhead)
        JSONWriter.member("version", version, to: &json)
        json.append(UInt8(ascii: "}"))
        return OwnState.Held(version: version, frame: WebSocketFrame.text(json), isInitial: requests.isEmpty)
    }
}
