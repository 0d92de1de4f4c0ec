import PresenceCore
import PresenceProtocol
import Redis

/// A time during which a user's status was the same, and not offline.
struct PastInterval: Equatable {
    let status: String
    let from: Timestamp
    /// When it ended; `nil`: it has not ended.
    let to: Timestamp?

    init(status: String, from: Timestamp, to: Timestamp?) {
        self.status = status
        self.from = from
        self.to = to
    }

    /// Parses the form that `presence-lib.lua` writes: a letter, the beginning (6 bytes, big-endian) and the duration (6 bytes).
    /// `nil` for anything else.
    init?(packed bytes: [UInt8]) {
        guard bytes.count == 13, let status = Self.statuses[bytes[0]] else { return nil }
        func number(_ bytes: ArraySlice<UInt8>) -> Int64 { bytes.reduce(0) { $0 << 8 | Int64($1) } }
        let from = number(bytes[1..<7])
        self.init(status: status, from: from, to: from + number(bytes[7...]))
    }

    private static let statuses: [UInt8: String] = [
        UInt8(ascii: "o"): "online", UInt8(ascii: "b"): "busy", UInt8(ascii: "a"): "away",
    ]

    func write(to json: inout [UInt8]) {
        json += Array(#"{"status":"\#(status)","from":\#(from)"#.utf8)
        if let to { json += Array(#","to":\#(to)"#.utf8) }
        json.append(UInt8(ascii: "}"))
    }
}

/// The reply of `history.lua`.
struct PastRead {
    let now: Timestamp
    /// The oldest first; the last one may have no end.
    let intervals: [PastInterval]

    /// `nil` for a reply that no script of ours sends.
    init?(_ reply: ScriptReply) {
        guard let now = reply[0].int, let status = reply[1].string, let since = reply[2].int else { return nil }
        self.now = now
        var intervals = reply.rest.dropFirst(3).compactMap { $0.bytes.flatMap { PastInterval(packed: $0) } }
        if ["online", "busy", "away"].contains(status) {
            intervals.append(PastInterval(status: status, from: since, to: nil))
        }
        self.intervals = intervals
    }
}
