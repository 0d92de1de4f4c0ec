import Foundation
import PresenceCore
import PresenceProtocol

/// The scope of a ban: everything, or one conversation.
enum BanScope: Equatable, CustomStringConvertible {
    case all
    case conversation(ConversationID)

    private static let prefix = "conversation:"

    var description: String {
        switch self {
        case .all: "all"
        case .conversation(let id): Self.prefix + id.string
        }
    }

    init(_ text: String) throws(DecodingFailure) {
        if text == "all" {
            self = .all
        } else if text.hasPrefix(Self.prefix), let id = ConversationID(String(text.dropFirst(Self.prefix.count))) {
            self = .conversation(id)
        } else {
            throw .invalid("scope", "must be all, or conversation: and the id of one")
        }
    }
}

/// `{"reason":"…","until":MS,"scope":"all"}`.
struct BanRequest {
    let reason: String
    let until: Timestamp?
    let scope: BanScope

    static let mostCharacters = 200

    /// - Parameter now: By Redis' clock.
    init(_ body: [UInt8], at now: Timestamp) throws(DecodingFailure) {
        (reason, until, scope) = try body.lend {
            (bytes) throws(DecodingFailure) -> (String, Timestamp?, BanScope) in
            var members = try RequestBody.object(bytes)
            var (reason, until, scope): (String?, Timestamp?, BanScope) = (nil, nil, .all)
            try members.forEachMember { (key, value) throws(DecodingFailure) in
                guard value.kind != .null else { return }
                if key.equals("reason") { reason = try value.checkedString("reason") }
                if key.equals("until") { until = try value.checkedInteger("until") }
                if key.equals("scope") { scope = try BanScope(value.checkedString("scope")) }
            }
            guard let reason else { throw .missing("reason") }
            return (reason, until, scope)
        }
        guard !reason.isEmpty else { throw .invalid("reason", "must not be empty") }
        if let rule = FreeText.brokenRule(by: reason, maximumCharacters: Self.mostCharacters) {
            throw .invalid("reason", rule)
        }
        if let until, until <= now || until >= Ban.noEnd { throw .invalid("until", "must be a time in the future") }
    }
}

/// `?after=CURSOR&limit=N`. Other names are ignored.
struct BanQuery {
    var limit = 100
    /// The partition and the last entry of the page before.
    var after = (partition: 0, entry: "")

    static let most = 1_000

    init(_ query: String, partitions: Int) throws(DecodingFailure) {
        for pair in query.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let value = parts.count == 2 ? parts[1] : ""
            switch parts[0] {
            case "limit":
                guard let number = Int(value), 1...Self.most ~= number else {
                    throw .invalid("limit", "must be from 1 to \(Self.most)")
                }
                limit = number
            case "after":
                guard let place = Self.place(value), place.partition < partitions else {
                    throw .invalid("after", "must be the next of an earlier page")
                }
                after = place
            default: break
            }
        }
    }

    /// Hexadecimal, because an entry has the reason of a ban.
    static func cursor(_ partition: Int, _ entry: String) -> String { Array("\(partition) \(entry)".utf8).hexadecimal }

    private static func place(_ cursor: String) -> (partition: Int, entry: String)? {
        guard let bytes = [UInt8](hexadecimal: cursor), bytes.count <= 8_192,
            let text = String(validating: bytes, as: UTF8.self)
        else { return nil }
        let words = text.split(separator: " ", maxSplits: 1)
        guard words.count == 2, let partition = Int(words[0]), partition >= 0 else { return nil }
        return (partition, String(words[1]))
    }

    /// The scope in the query of a `DELETE`.
    static func scope(_ query: String) throws(DecodingFailure) -> BanScope {
        for pair in query.split(separator: "&") where pair.hasPrefix("scope=") {
            guard let text = String(pair.dropFirst(6)).removingPercentEncoding else {
                throw .invalid("scope", "has a malformed escape")
            }
            return try BanScope(text)
        }
        return .all
    }
}
