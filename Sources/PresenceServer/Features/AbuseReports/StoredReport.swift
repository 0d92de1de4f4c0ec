import PresenceCore
import PresenceProtocol
import Redis

/// A report as Redis has it: a hash. Texts, and the message, are JSON.
struct StoredReport {
    let id: Identifier
    private let fields: [String: [UInt8]]

    /// `nil` if the report is no longer kept.
    init?(_ id: Identifier, _ value: RedisValue) {
        let words = value.array ?? []
        var fields: [String: [UInt8]] = [:]
        for place in stride(from: 0, to: words.count - 1, by: 2) {
            fields[words[place].string ?? ""] = words[place + 1].bytes
        }
        guard fields["state"] != nil else { return nil }
        (self.id, self.fields) = (id, fields)
    }

    private func text(_ field: String) -> String? { fields[field].map { String(decoding: $0, as: UTF8.self) } }
    private func id(_ field: String) -> Identifier? { text(field).flatMap { Identifier($0) } }

    var user: UserID? { id("user") }
    var conversation: ConversationID? { id("conversation") }
    var message: String? { text("messageID") }

    var json: [UInt8] {
        var json = Array(#"{"id":"#.utf8)
        JSONWriter.string(id.string, to: &json)
        for name: StaticString in ["state", "by", "user", "conversation", "action"] {
            if let value = text("\(name)") { JSONWriter.member(name, value, to: &json) }
        }
        for name: StaticString in ["reason", "text", "message"] {
            guard let value = fields["\(name)"] else { continue }
            JSONWriter.key(name, to: &json)
            json += value
        }
        for name: StaticString in ["at", "decidedAt"] {
            if let time = text("\(name)").flatMap({ Timestamp($0) }) { JSONWriter.member(name, time, to: &json) }
        }
        return json + [UInt8(ascii: "}")]
    }
}
