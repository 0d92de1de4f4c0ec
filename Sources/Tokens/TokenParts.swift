import PresenceProtocol

/// The members of a token's header that decide by which key it is verified.
///
/// Keys and key addresses that a header brings along (`jwk`, `jku`, `x5c`, `x5u`) are not even read.
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

/// The claims that are looked at, as a token states them.
struct TokenPayload {
    private(set) var subject: String?
    /// NumericDates: seconds since 1970, possibly with a fraction.
    private(set) var expiration: Double?
    private(set) var notBefore: Double?
    private(set) var issuedAt: Double?
    private(set) var issuer: String?
    private(set) var audience: [String]?
    /// Whatever else than a string `role` is gives no rights: `nil`.
    private(set) var role: String?
    private(set) var grant: Identifier?
    /// Whether `grant` is there, and no id.
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

/// Hands every member of the object that is all of `json` to `read`.
///
/// A name that is there twice is refused: which of two values counts is not agreed upon between readers (RFC 8259),
/// and a token must not mean one thing here and another elsewhere.
private func forEachMember(
    of json: [UInt8], _ read: (_ name: String, JSONValue) throws(AuthenticationFailure) -> Void
) throws(AuthenticationFailure) {
    // The scanner and its values point into `json`; nothing of them leaves this call.
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

/// The names of an object so far. A token has some five, which are compared with each other sooner than hashed.
private struct SeenNames {
    private var few: [String] = []
    private var many: Set<String> = []

    init() { few.reserveCapacity(8) }

    /// Whether it is new.
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
    fileprivate var numericDate: Double? {
        switch number {
        case .integer(let seconds): Double(seconds)
        case .fraction, .tooLarge: Double(String(decoding: bytes, as: UTF8.self))
        case nil: nil
        }
    }

    /// The text of a string, or those of an array of strings, which is how `aud` is written.
    fileprivate var oneOrMoreStrings: [String]? {
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
