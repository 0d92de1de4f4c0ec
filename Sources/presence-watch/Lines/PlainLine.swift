import Foundation
import PresenceKit
import TerminalClients

/// One change as a line of text: the time, the user, and the new value.
struct PlainLine: Hashable, Sendable {
    let text: String

    /// - Parameters:
    ///   - what: text without control sequences.
    ///   - now: by the server's clock; shown in the given time zone.
    init(_ what: String, now: Date, timeZone: TimeZone = .current) {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = timeZone
        let parts = calendar.dateComponents([.hour, .minute, .second], from: now)
        let time = [parts.hour, parts.minute, parts.second].map { part in
            let digits = String(part ?? 0)
            return digits.count < 2 ? "0\(digits)" : digits
        }
        text = "\(time.joined(separator: ":"))  \(what)"
    }

    init(_ person: Person, now: Date, timeZone: TimeZone = .current) {
        let row = BoardRow(person)
        var parts = [row.id.width == 0 ? row.name.text : "\(row.name.text) (\(row.id.text))"]
        if row.isRefused {
            parts.append("refused: \(row.text.text)")
        } else {
            parts.append(Self.status(row, now))
            if row.devices.width > 0 { parts.append(row.devices.text) }
            if row.text.width > 0 { parts.append("“\(row.text.text)”") }
            if let arrival = row.arrival { parts.append("took \(arrival.latency.shortText)") }
        }
        self.init(parts.joined(separator: "  "), now: now, timeZone: timeZone)
    }

    init(_ typing: Typing, now: Date, timeZone: TimeZone = .current) {
        let more = typing.othersCount > 0 ? " and \(typing.othersCount) more" : ""
        let who = typing.isAnyone ? "typing: \(typing.users.joined(separator: ", "))\(more)" : "no one is typing"
        self.init(Label("\(typing.conversation)  \(who)").text, now: now, timeZone: timeZone)
    }

    private static func status(_ row: BoardRow, _ now: Date) -> String {
        guard let status = row.status else { return "" }
        guard let since = row.since else { return "\(status.rawValue), never seen" }
        if row.isHere { return "\(status.rawValue) \(Age(of: since, at: row.freshness?.staleSince ?? now).lasting)" }
        return "\(status.rawValue), last seen \(Age(of: since, at: now).ago)"
    }
}
