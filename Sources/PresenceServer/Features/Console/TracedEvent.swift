import Foundation
import PresenceCore
import PresenceProtocol

/// A script's event as the trace shows it: what happened and to whom, without texts, names or tokens.
enum TracedEvent {
    /// Whether the event is about the user or the conversation; for a user, messages and typing in conversations count too.
    static func concerns(_ event: StoreEvent, _ subject: Identifier, isUser: Bool) -> Bool {
        let isConversation = "NCMTE".utf8.contains(event.kind)
        if isConversation != isUser { return subject.has(event.subjectBytes) }
        guard isUser else { return false }
        switch event.kind {
        case UInt8(ascii: "M"): return StoredMessage(Array(event.rest))?.from == subject.string
        case UInt8(ascii: "T"): return typists(event).contains(subject.string)
        default: return false
        }
    }

    static func json(_ event: StoreEvent) -> [UInt8] {
        var json = Array(#"{"kind":"#.utf8)
        JSONWriter.string(kinds[event.kind] ?? "other", to: &json)
        JSONWriter.member("at", event.at, to: &json)
        JSONWriter.member("subject", event.subject?.string ?? "", to: &json)
        if event.version > 0 { JSONWriter.member("version", event.version, to: &json) }
        JSONWriter.key("about", to: &json)
        JSONWriter.string(about(event), to: &json)
        JSONWriter.raw("}", to: &json)
        return json
    }

    private static let kinds: [UInt8: String] = [
        UInt8(ascii: "P"): "presence", UInt8(ascii: "F"): "profile", UInt8(ascii: "O"): "status",
        UInt8(ascii: "V"): "visibility", UInt8(ascii: "X"): "replaced", UInt8(ascii: "D"): "disconnected",
        UInt8(ascii: "R"): "revoked", UInt8(ascii: "G"): "signedOut", UInt8(ascii: "A"): "account",
        UInt8(ascii: "Z"): "deleted", UInt8(ascii: "I"): "notifications", UInt8(ascii: "N"): "conversation",
        UInt8(ascii: "C"): "members", UInt8(ascii: "M"): "message", UInt8(ascii: "T"): "typing",
        UInt8(ascii: "E"): "expired", UInt8(ascii: "K"): "banned",
    ]

    /// A description in a few words.
    private static func about(_ event: StoreEvent) -> String {
        switch event.kind {
        case UInt8(ascii: "P"): presence(event)
        case UInt8(ascii: "F"): members(event).keys.sorted().joined(separator: ", ")
        case UInt8(ascii: "O"): event.words.first ?? ""
        case UInt8(ascii: "V"): visibility(event)
        case UInt8(ascii: "I"):
            zip(["unseen", "unread"], event.words.dropFirst()).map { "\($1) \($0)" }.joined(separator: ", ")
        case UInt8(ascii: "N"): conversation(event)
        case UInt8(ascii: "C"): "now \(few(event.words))"
        case UInt8(ascii: "M"): message(event)
        case UInt8(ascii: "T"): typists(event).isEmpty ? "nobody" : few(typists(event))
        default: ""
        }
    }

    private static func presence(_ event: StoreEvent) -> String {
        let members = members(event)
        let devices = (members["devices"] as? [String] ?? []).joined(separator: ", ")
        return (members["status"] as? String ?? "") + (devices.isEmpty ? "" : " on " + devices)
            + (members["text"] == nil ? "" : ", with a text")
    }

    /// The first letters of `PRESENCE LASTSEEN …`.
    private static func visibility(_ event: StoreEvent) -> String {
        let audiences = ["e": "everyone", "c": "contacts", "n": "nobody"]
        return zip(["presence", "last seen"], event.words).map { "\($0): \(audiences[$1] ?? $1)" }.joined(
            separator: ", ")
    }

    private static func conversation(_ event: StoreEvent) -> String {
        guard let id = event.subject else { return "" }
        let record = ConversationRecord(id, lines: event.rest)
        let members = record.members.map { "\($0.user) has read \($0.shown), got \($0.delivered)" }
        return "\(record.last) messages; " + few(members, separator: "; ")
    }

    private static func message(_ event: StoreEvent) -> String {
        guard let message = StoredMessage(Array(event.rest)) else { return "cannot be read" }
        let state = message.deletedAt > 0 ? "deleted" : message.editedAt > 0 ? "edited" : "new"
        return "number \(message.seq) from \(message.from), \(state), \(message.text.count) bytes"
    }

    /// `USER:MS …`.
    private static func typists(_ event: StoreEvent) -> [String] {
        event.words.compactMap { word in
            word.lastIndex(of: ":").map { String(word[..<$0]) }
        }
    }

    private static func few(_ words: [String], separator: String = ", ") -> String {
        words.prefix(10).joined(separator: separator) + (words.count > 10 ? separator + "…" : "")
    }

    /// A register's body follows its version: `"status":…}`.
    private static func members(_ event: StoreEvent) -> [String: Any] {
        let body = Data([UInt8(ascii: "{")]) + Data(event.rest)
        return (try? JSONSerialization.jsonObject(with: body)) as? [String: Any] ?? [:]
    }
}
