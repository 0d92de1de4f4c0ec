import PresenceCore
import PresenceProtocol

/// `{"name":"shop","scopes":["users:read"],"expiresIn":MS}`.
struct BackendKeyRequest {
    let name: String
    let scopes: [CallScope]
    let lifetime: Milliseconds?

    /// Ten years. A key that never has to end needs no lifetime.
    static let longestLifetime: Milliseconds = 3_653 * 86_400_000
    /// The longest time for which two secrets of a key are accepted: 30 days.
    static let longestOverlap: Milliseconds = 30 * 86_400_000

    init(name: String, scopes: [String], lifetime: Milliseconds?) throws(DecodingFailure) {
        if let rule = BackendKey.brokenRule(by: name) { throw .invalid("name", rule) }
        if let lifetime, !(1...Self.longestLifetime).contains(lifetime) {
            throw .invalid("expiresIn", "must be from 1 to \(Self.longestLifetime)")
        }
        (self.name, self.scopes, self.lifetime) = (name, try CallScope.list(scopes), lifetime)
    }

    init(_ body: [UInt8]) throws(DecodingFailure) {
        let read = try body.lend { (bytes) throws(DecodingFailure) -> (String, [String], Milliseconds?) in
            var members = try RequestBody.object(bytes)
            var (name, scopes, lifetime): (String?, [String]?, Milliseconds?)
            try members.forEachMember { (key, value) throws(DecodingFailure) in
                guard value.kind != .null else { return }
                if key.equals("name") { name = try value.checkedString("name") }
                if key.equals("scopes") { scopes = try value.checkedStrings("scopes", most: CallScope.all.count) }
                if key.equals("expiresIn") { lifetime = try value.checkedInteger("expiresIn") }
            }
            guard let name else { throw .missing("name") }
            guard let scopes else { throw .missing("scopes") }
            return (name, scopes, lifetime)
        }
        try self.init(name: read.0, scopes: read.1, lifetime: read.2)
    }

    /// `{"overlap":MS}`: the time for which the present secret is accepted beside the new one. Without it the present one ends at
    /// once.
    static func overlap(_ body: [UInt8]) throws(DecodingFailure) -> Milliseconds {
        guard !body.isEmpty else { return 0 }
        let overlap = try body.lend { (bytes) throws(DecodingFailure) -> Milliseconds in
            var members = try RequestBody.object(bytes)
            var overlap: Milliseconds = 0
            try members.forEachMember { (key, value) throws(DecodingFailure) in
                if key.equals("overlap"), value.kind != .null { overlap = try value.checkedInteger("overlap") }
            }
            return overlap
        }
        try check(overlap: overlap)
        return overlap
    }

    static func check(overlap: Milliseconds) throws(DecodingFailure) {
        guard (0...longestOverlap).contains(overlap) else {
            throw .invalid("overlap", "must be from 0 to \(longestOverlap)")
        }
    }
}

extension JSONValue {
    fileprivate func checkedStrings(_ field: String, most: Int) throws(DecodingFailure) -> [String] {
        guard kind == .array else { throw .wrongKind(field, wanted: "an array of strings") }
        var strings: [String] = []
        var scanner = JSONScanner(self)
        do {
            try scanner.beginArray()
            while try scanner.nextElement(), strings.count <= most {
                guard let string = try scanner.value().string else { break }
                strings.append(string)
            }
            return strings
        } catch {
            throw .wrongKind(field, wanted: "an array of strings")
        }
    }
}

/// Why a script refuses a change of keys.
enum BackendKeyRefusal: String, RefusalWord {
    case taken = "TAKEN"
    case full = "FULL"
    case none = "NONE"
    case expired = "EXPIRED"

    var refusal: Refusal {
        switch self {
        case .taken: Refusal(.conflict, "another key has this name", field: "name")
        case .full: Refusal(.tooMany, "there are at most \(BackendKeys.most) keys: revoke those that have expired")
        case .none: Refusal(.notFound, "there is no such key")
        case .expired: Refusal(.conflict, "this key has expired: make another one")
        }
    }
}
