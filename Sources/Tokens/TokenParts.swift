import PresenceProtocol

/// The members of a token's header that determine the key for its verification.
///
/// Keys and key addresses inside a header (`jwk`, `jku`, `x5c`, `x5u`) are not even read.
struct TokenHeader {
    private(set) var algorithm = ""
    private(set) var keyID: String?
    /// Whether the header has `crit`: extensions without which the token must not be accepted.
    private(set) var hasCritical = false

    init(algorithm: String) { self.algorithm = algorithm }

    init(json: [UInt8]) throws(AuthenticationFailure) {
        try forEachMember(of: json) { name, value throws(AuthenticationFailure) in
            switch name {
            case "alg", "kid":
                guard let string = value.string else { throw .malformed }
                if name == "alg" { algorithm = string } else { keyID = string }
            case "crit": hasCritical = true
            default: break
            }
        }
    }
}

/// The claims that are checked, as a token states them.
struct TokenPayload {
    private(set) var subject: String?
    /// NumericDates: seconds since 1970, possibly with a fraction.
    private(set) var expiration: Double?
    private(set) var notBefore: Double?
    private(set) var issuedAt: Double?
    private(set) var issuer: String?
    private(set) var audience: [String]?
    /// `nil` if there is no `role`, or if it is not a string: then it gives no rights.
    private(set) var role: String?
    private(set) var grant: Identifier?
    /// Whether `grant` is present, but not an id.
    private(set) var hasBadGrant = false

    init(json: [UInt8]) throws(AuthenticationFailure) {
        try forEachMember(of: json) { name, value throws(AuthenticationFailure) in
            guard let claim = AuthenticationFailure.Claim(rawValue: name) else { return }
            func required<Value>(_ read: Value?) throws(AuthenticationFailure) -> Value {
                guard let read else { throw .badClaim(claim) }
                return read
            }
            switch claim {
            case .subject: subject = try required(value.string)
            case .expiration: expiration = try required(value.numericDate)
            case .notBefore: notBefore = try required(value.numericDate)
            case .issuedAt: issuedAt = try required(value.numericDate)
            case .issuer: issuer = try required(value.string)
            case .audience: audience = try required(value.oneOrMoreStrings)
            case .role: role = value.string
            case .grant:
                grant = value.string.flatMap { Identifier($0) }
                hasBadGrant = grant == nil
            }
        }
    }
}

/// Passes every member of the object that is all of `json` to `read`.
///
/// A repeated name is rejected: JSON readers do not agree on which value counts (RFC 8259), and a token must not have
/// two meanings.
func forEachMember(
    of json: [UInt8], _ read: (_ name: String, JSONValue) throws(AuthenticationFailure) -> Void
) throws(AuthenticationFailure) {
    // The scanner and its values point into `json`, and do not leave this call.
    let outcome = json.withUnsafeBytes { bytes -> Result<Void, AuthenticationFailure> in
        do {
            var scanner = JSONScanner(bytes)
            var seen = SeenNames()
            try scanner.beginObject()
            while let key = try scanner.nextKey() {
                guard let name = key.string, seen.insert(name) else { return .failure(.malformed) }
                try read(name, try scanner.value())
            }
            try scanner.finish()
            return .success(())
        } catch let failure as AuthenticationFailure {
            return .failure(failure)
        } catch {
            return .failure(.malformed)
        }
    }
    try outcome.get()
}

/// The names of an object that were read so far. A token has some five: comparing them is cheaper than hashing.
private struct SeenNames {
    private var few: [String] = []
    private var many: Set<String> = []

    init() { few.reserveCapacity(8) }

    /// Adds the name. Returns whether it is new.
    mutating func insert(_ name: String) -> Bool {
        guard !few.contains(name) else { return false }
        if few.count < 8 {
            few.append(name)
            return true
        }
        return many.insert(name).inserted
    }
}

extension JSONValue {
    /// The value of a number, `nil` for any other kind.
    var numericDate: Double? {
        switch number {
        case .integer(let seconds): Double(seconds)
        case .fraction, .tooLarge: Double(String(decoding: bytes, as: UTF8.self))
        case nil: nil
        }
    }

    /// The text of a string, or of an array of strings, which is how `aud` is written.
    var oneOrMoreStrings: [String]? {
        if let string { return [string] }
        guard kind == .array else { return nil }
        var strings: [String] = []
        var scanner = JSONScanner(self)
        do {
            try scanner.beginArray()
            while try scanner.nextElement() {
                guard let string = try scanner.value().string else { return nil }
                strings.append(string)
            }
        } catch {
            return nil
        }
        return strings
    }
}
