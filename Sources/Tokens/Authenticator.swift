public import PresenceProtocol
import Signing

/// Decides whether a token is genuine, and to which user it belongs.
///
/// It is a value that contains only keys. Verification is synchronous, does no I/O, and takes the time as an argument.
/// On a loop, call `begin`, which leaves slow signatures to another thread. The authenticator guarantees that
/// - a key verifies only tokens of its own algorithm: the header's `alg` must be exactly the key's, so neither `none`
///   nor a public key used as an HMAC secret is accepted;
/// - a token with a `kid` is verified by the key of that name or is rejected; a token without a `kid` is verified by the
///   data directory's secret (HS256) or is rejected: no token can make the server try, guess or fetch a key;
/// - claims are read only after the signature has been verified;
/// - no result contains any part of the token.
///
/// Measured in µs of CPU: 2 for HS256, 18 for RS256 with 2048 bits, 46 for ES256, 64 for EdDSA. In each case, the
/// signature takes all of it except 1 µs.
public struct Authenticator: Sendable {
    /// The longest token that is accepted, in bytes: it fits the headers of an upgrade request.
    public static let longestToken = 16_384

    /// NumericDates after the year 9999 are mistakes of the unit, and could overflow later computations.
    static let latestDate = 253_402_300_799.0

    /// Keys by `kid`. The data directory's own secret has the empty name, which no token can use.
    private let keys: [String: Key]
    /// The reasons why keys of the key set are not used, a sentence for each.
    public internal(set) var passedOver: [String] = []
    private let issuer: String?
    private let audience: String?
    /// How far `nbf` and `iat` may lie in the future, in ms, because an issuer's clock may be slightly ahead. `exp` has
    /// no such grace: a connection ends at that time, so a connection that began later would have to end at once.
    private let leeway: Milliseconds

    struct Key: Sendable {
        enum Kind: Sendable {
            /// The secret of this installation, which is never shared.
            case own(HMACKey)
            /// The public key of an application, whose signatures take too long for a loop.
            case application(PublicKey)
        }

        let kind: Kind
        /// The required `alg` of the header.
        let algorithm: String

        init(secret: HMACKey) {
            kind = .own(secret)
            algorithm = secret.algorithm.rawValue
        }

        init(_ key: PublicKey) {
            kind = .application(key)
            algorithm = key.algorithm.rawValue
        }

        var isOwn: Bool { if case .own = kind { true } else { false } }

        func signed(_ bytes: ArraySlice<UInt8>, _ signature: [UInt8]) -> Bool {
            switch kind {
            case .own(let secret): secret.verify(signature, of: bytes)
            case .application(let key): key.verify(signature, of: bytes)
            }
        }
    }

    /// Signs the installation's own tokens; `nil` without its secret.
    public var maker: TokenMaker? {
        guard case .own(let secret) = keys[""]?.kind else { return nil }
        return TokenMaker(key: secret)
    }

    init(ownKey: Key?, keys: [String: Key], issuer: String?, audience: String?, leeway: Milliseconds) {
        var all = keys
        all[""] = ownKey
        self.keys = all
        self.issuer = issuer
        self.audience = audience
        self.leeway = leeway
    }

    /// Verifies a token.
    ///
    /// - Parameters:
    ///   - token: The token in its compact form.
    ///   - now: The server's time, in ms since 1970.
    public func verify(_ token: String, now: Timestamp) -> Result<Claims, AuthenticationFailure> {
        verify(Array(token.utf8)[...], now: now)
    }

    /// Verifies a token given as its bytes.
    public func verify(_ token: ArraySlice<UInt8>, now: Timestamp) -> Result<Claims, AuthenticationFailure> {
        switch begin(token, now: now) {
        case .done(let result): result
        case .signature(let rest): rest()
        }
    }

    /// The progress of a token's verification.
    public enum Verification: Sendable {
        case done(Result<Claims, AuthenticationFailure>)
        /// The signature takes long (RSA, elliptic curves): the function does the rest, on any thread.
        case signature(@Sendable () -> Result<Claims, AuthenticationFailure>)
    }

    /// Does the fast part of a verification. That is the whole verification if the token is malformed, names an unknown
    /// key, or is signed by HMAC.
    public func begin(_ token: String, now: Timestamp) -> Verification {
        begin(Array(token.utf8)[...], now: now)
    }

    private func begin(_ token: ArraySlice<UInt8>, now: Timestamp) -> Verification {
        do throws(AuthenticationFailure) {
            let token = try unverified(token)
            guard !token.key.isOwn else { return .done(finish(token, now: now)) }
            return .signature { finish(token, now: now) }
        } catch {
            return .done(.failure(error))
        }
    }

    private func finish(_ token: Unverified, now: Timestamp) -> Result<Claims, AuthenticationFailure> {
        do throws(AuthenticationFailure) {
            guard token.key.signed(token.signed, token.signature) else { throw .badSignature }
            return .success(try claims(in: token.payload, key: token.key, now: now))
        } catch {
            return .failure(error)
        }
    }

    /// A token's parts, and the key for its signature.
    struct Unverified: Sendable {
        let key: Key
        let signed: ArraySlice<UInt8>
        let signature: [UInt8]
        /// JSON.
        let payload: [UInt8]
    }

    func unverified(_ token: ArraySlice<UInt8>) throws(AuthenticationFailure) -> Unverified {
        guard token.count <= Self.longestToken else { throw .malformed }
        guard let parts = Self.parts(of: token), let payload = Base64URL.decode(parts.payload),
            let signature = Base64URL.decode(parts.signature)
        else { throw .malformed }

        let header = try header(parts.header)
        guard !header.hasCritical else { throw .unsupportedExtension }
        guard header.keyID != "", let key = keys[header.keyID ?? ""] else { throw .unknownKey }
        guard header.algorithm.utf8.elementsEqual(key.algorithm.utf8) else { throw .wrongAlgorithm }
        return Unverified(
            key: key, signed: token[parts.header.startIndex..<parts.payload.endIndex], signature: signature,
            payload: payload)
    }

    typealias Parts = (header: ArraySlice<UInt8>, payload: ArraySlice<UInt8>, signature: ArraySlice<UInt8>)

    /// The three parts of a token: before, between and after its two dots. `nil` if it has fewer or more dots.
    static func parts(of token: ArraySlice<UInt8>) -> Parts? {
        let dot = UInt8(ascii: ".")
        guard let first = token.firstIndex(of: dot), let second = token[(first + 1)...].firstIndex(of: dot),
            !token[(second + 1)...].contains(dot)
        else { return nil }
        return (token[..<first], token[(first + 1)..<second], token[(second + 1)...])
    }

    private func header(_ text: ArraySlice<UInt8>) throws(AuthenticationFailure) -> TokenHeader {
        // Nearly all tokens of an installation's own have the same header, so that one is parsed only once.
        if text.elementsEqual(Self.usualHeader.text) { return Self.usualHeader.meaning }
        guard let json = Base64URL.decode(text) else { throw .malformed }
        return try TokenHeader(json: json)
    }

    /// The header of `TokenMaker` and most libraries: `{"alg":"HS256","typ":"JWT"}`.
    private static let usualHeader = (
        text: Array(TokenMaker.header.utf8),
        meaning: TokenHeader(algorithm: "HS256")
    )

    private func claims(
        in payload: [UInt8], key: Key, now: Timestamp
    ) throws(AuthenticationFailure) -> Claims {
        let token = try TokenPayload(json: payload)
        guard let subject = token.subject.flatMap(Identifier.init) else { throw .badClaim(.subject) }

        guard let expiration = token.expiration, (1...Self.latestDate).contains(expiration) else {
            throw .badClaim(.expiration)
        }
        let expiresAt = Timestamp(expiration * 1_000)
        guard now < expiresAt else { throw .expired }
        for (claim, seconds) in [(AuthenticationFailure.Claim.notBefore, token.notBefore), (.issuedAt, token.issuedAt)]
        {
            guard let seconds else { continue }
            guard (0...Self.latestDate).contains(seconds) else { throw .badClaim(claim) }
            guard Timestamp(seconds * 1_000) <= now + leeway else { throw .notYetValid }
        }

        // Only this installation knows its own secret, so its tokens need not name issuer and audience; if they do, the
        // names must match. Other keys may serve other applications too.
        if let issuer, token.issuer != nil || !key.isOwn {
            guard let named = token.issuer, named.utf8.elementsEqual(issuer.utf8) else { throw .badClaim(.issuer) }
        }
        if let audience, token.audience != nil || !key.isOwn {
            guard let named = token.audience, named.contains(where: { $0.utf8.elementsEqual(audience.utf8) }) else {
                throw .badClaim(.audience)
            }
        }
        // In tokens of other issuers `grant` may have another meaning. In our own tokens an invalid `grant` is
        // rejected, because ending a grant could not revoke such a token.
        if key.isOwn, token.hasBadGrant { throw .badClaim(.grant) }
        return Claims(
            subject: subject, isBackend: token.role == "backend", expiresAt: expiresAt,
            issuedAt: token.issuedAt.map(Self.milliseconds), grant: key.isOwn ? token.grant : nil)
    }

    /// The ms of a NumericDate, rounded down: a token that was issued in the ms before a revocation must not count as
    /// issued after it. (A fraction of three digits is a Double that may be too small by a millionth.)
    private static func milliseconds(_ seconds: Double) -> Timestamp {
        Timestamp((seconds * 1_000 + 0.001).rounded(.down))
    }
}
