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
    let limit: Int
    /// The partition and the last entry of the page before.
    var after = (partition: 0, entry: "")

    static let most = 1_000

    init(_ query: String, partitions: Int) throws(DecodingFailure) {
        let members = CallQuery(query)
        limit = try members.limit(100, most: Self.most)
        guard let cursor = members["after"] else { return }
        guard let place = Self.place(cursor), place.partition < partitions else {
            throw .invalid("after", "must be the next of an earlier page")
        }
        after = place
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
        guard let value = CallQuery(query)["scope"] else { return .all }
        guard let text = value.removingPercentEncoding else { throw .invalid("scope", "has a malformed escape") }
        return try BanScope(text)
    }
}
