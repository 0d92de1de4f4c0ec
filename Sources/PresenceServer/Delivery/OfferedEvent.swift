import Foundation
import PresenceCore
import PresenceProtocol
import Redis

/// An event as a script has offered it, and as endpoints get it.
struct OfferedEvent: Equatable {
    /// The entry in the partition's stream: `MS-NUMBER`.
    let entry: String
    let type: String
    let at: Timestamp
    /// The user or conversation of the event: events of the same subject are sent one after the other.
    let subject: String
    /// The rest of the entry's data; its form depends on the type.
    let rest: ArraySlice<UInt8>
    /// The number of events before it that were lost because no courier took them.
    let lost: Int64
    /// For the server's own receivers, and part of no body. The number of the message, if this is
    /// `push.due` or `push.held`; and ` held` after it, if the push was held.
    let about: String?

    /// An entry of the stream; `nil` for one that no script has written.
    init?(_ value: RedisValue) {
        guard let parts = value.array, parts.count == 2, let entry = parts[0].string, let fields = parts[1].array else {
            return nil
        }
        var values: [String: RedisValue] = [:]
        for index in stride(from: 0, to: fields.count - 1, by: 2) {
            values[fields[index].string ?? ""] = fields[index + 1]
        }
        guard let type = values["type"]?.string, let at = values["at"]?.int, let data = values["data"]?.bytes else {
            return nil
        }
        let space = data.firstIndex(of: 0x20) ?? data.endIndex
        guard let subject = Identifier(String(decoding: data[..<space], as: UTF8.self)) else { return nil }
        self.init(
            entry: entry, type: type, at: at, subject: subject.string, rest: data[min(space + 1, data.endIndex)...],
            lost: values["lost"]?.int ?? 0, about: values["about"]?.string)
    }

    init(
        entry: String, type: String, at: Timestamp, subject: String, rest: ArraySlice<UInt8>, lost: Int64 = 0,
        about: String? = nil
    ) {
        (self.entry, self.type, self.at, self.subject, self.rest) = (entry, type, at, subject, rest)
        (self.lost, self.about) = (lost, about)
    }

    /// The header `webhook-id`: the same for each try and each endpoint. It begins with the entry's time in ms and its number
    /// within that ms, padded to the same length. So the ids of a partition sort as its events were offered, which is the order
    /// of their first tries.
    func id(partition: Int) -> String {
        let parts = entry.split(separator: "-", maxSplits: 1)
        let number = parts.count == 2 ? parts[1] : ""
        let zeros = String(repeating: "0", count: max(0, Self.digits - number.count))
        return "msg_\(parts.first ?? "")_\(zeros)\(number)_\(partition)"
    }
    /// Enough for the number within a ms: a stream has at most 20,000 entries (`mostOffers` in lib.lua).
    private static let digits = 5

    /// The number of a push's message; `nil` in an event of an earlier version.
    var message: Int64? { about.flatMap { Int64($0.prefix { $0 != " " }) } }
    /// Whether the message of a push was announced before, by `push.held`.
    var wasHeld: Bool { about?.hasSuffix(" held") == true }

    // MARK: The body

    /// A longer message is sent without its earlier texts, so that a body has less than 20 KB if the text itself has. Scripts
    /// leave them out already (`rewrite` in message-lib.lua); those of earlier versions did not.
    private static let longest = 16_384

    /// `nil` for a rest that scripts do not write.
    var body: [UInt8]? {
        var json = Array("{".utf8)
        json += Array(#""type":"#.utf8)
        JSONWriter.string(type, to: &json)
        JSONWriter.member("timestamp", Self.text(of: at), to: &json)
        JSONWriter.key("data", to: &json)
        guard writeData(to: &json) else { return nil }
        JSONWriter.raw("}", to: &json)
        return json
    }

    private func writeData(to json: inout [UInt8]) -> Bool {
        switch type.prefix(while: { $0 != "." }) {
        case "message":
            guard let message = StoredMessage(rest) else { return false }
            JSONWriter.raw("{\"conversation\":", to: &json)
            JSONWriter.string(subject, to: &json)
            JSONWriter.key("message", to: &json)
            message.write(to: &json, withEdits: rest.count <= Self.longest)
        case "account":
            JSONWriter.raw("{\"user\":", to: &json)
            JSONWriter.string(subject, to: &json)
        default:
            // The rest is one JSON value. Those of `push.due` and `push.held` are a list of members, which follow `user`.
            JSONWriter.raw("{\"user\":", to: &json)
            JSONWriter.string(subject, to: &json)
            guard !rest.isEmpty else { return false }
            switch type {
            case "push.due", "push.held": JSONWriter.raw(",", to: &json)
            case "user.banned", "user.unbanned": JSONWriter.key("ban", to: &json)
            case "report.created": JSONWriter.key("report", to: &json)
            case "notification.created": JSONWriter.key("notification", to: &json)
            default: JSONWriter.key("presence", to: &json)
            }
            json += rest
        }
        JSONWriter.raw("}", to: &json)
        return true
    }

    /// ISO 8601, in UTC.
    static func text(of time: Timestamp) -> String {
        Date(timeIntervalSince1970: Double(time / 1_000)).formatted(.iso8601)
    }
}
