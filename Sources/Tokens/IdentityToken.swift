package import PresenceProtocol
import Signing

/// An identity token of a provider (OpenID Connect Core 1.0, section 2), as it was received: nothing of it is verified yet.
package struct IdentityToken: Sendable {
    /// The `kid` of its header; `nil` if it has none, as a provider's with only one key may.
    package let keyID: String?
    private let algorithm: String
    private let signed: [UInt8]
    private let signature: [UInt8]
    /// JSON.
    private let payload: [UInt8]

    /// - Throws: ``IdentityFailure`` if the text is no token.
    package init(_ text: String) throws(IdentityFailure) {
        let token = Array(text.utf8)
        guard token.count <= Authenticator.longestToken, let parts = Authenticator.parts(of: token[...]),
            let json = Base64URL.decode(parts.header), let payload = Base64URL.decode(parts.payload),
            let signature = Base64URL.decode(parts.signature), let header = try? TokenHeader(json: json)
        else { throw .malformed }
        guard !header.hasCritical else { throw .malformed }
        guard header.keyID?.isEmpty != true else { throw .unknownKey }
        (keyID, algorithm, self.payload, self.signature) = (header.keyID, header.algorithm, payload, signature)
        signed = Array(token[parts.header.startIndex..<parts.payload.endIndex])
    }

    /// Verifies the signature, then the claims. It takes up to 0.1 ms: for a thread of a pool.
    ///
    /// - Parameter now: The server's time, in ms since 1970.
    package func claims(
        by keys: IdentityKeys, _ rules: IdentityRules, now: Timestamp
    ) throws(IdentityFailure) -> IdentityClaims {
        let claims = try signedClaims(by: keys)
        try rules.check(claims, now: now)
        let issuer = try rules.issuer(of: claims)
        if let bound = keys.issuer(of: keyID) {
            guard try rules.filled(bound, claims).utf8.elementsEqual(issuer.utf8) else { throw .wrongIssuer }
        }
        return IdentityClaims(
            issuer: issuer, subject: try claims.checkedSubject, email: claims.email,
            isEmailVerified: claims.isEmailVerified, name: claims.name)
    }

    /// Verifies the signature, then the claims, of a notice of a provider: issuer, audience and times are as in an identity token,
    /// but it need not expire, and has `events` instead of a subject.
    package func notice(
        by keys: IdentityKeys, _ rules: IdentityRules, now: Timestamp
    ) throws(IdentityFailure) -> ProviderNotice {
        let claims = try signedClaims(by: keys)
        try rules.check(claims, now: now, mustExpire: false)
        guard let issuedAt = claims.issuedAt, let text = claims.events,
            let event = try? ProviderNotice.Event(json: Array(text.utf8)), let type = event.type
        else { throw .malformed }
        return ProviderNotice(
            type: type, issuer: try rules.issuer(of: claims), subject: try Claims.checked(event.subject),
            issuedAt: Timestamp(issuedAt * 1_000))
    }

    private func signedClaims(by keys: IdentityKeys) throws(IdentityFailure) -> Claims {
        guard let key = keys[keyID] else { throw .unknownKey }
        guard algorithm.utf8.elementsEqual(key.algorithm.rawValue.utf8) else { throw .wrongAlgorithm }
        guard key.verify(signature, of: signed[...]) else { throw .badSignature }
        guard let claims = try? Claims(json: payload) else { throw .malformed }
        return claims
    }

    /// The claims that are used, as the token states them.
    struct Claims {
        private(set) var issuer: String?
        private(set) var subject: String?
        private(set) var audience: [String] = []
        private(set) var party: String?
        private(set) var expiration: Double?
        private(set) var issuedAt: Double?
        private(set) var notBefore: Double?
        private(set) var nonce: String?
        private(set) var tenant: String?
        private(set) var email: String?
        private(set) var isEmailVerified = false
        private(set) var name: String?
        /// JSON, as a text or as it is.
        private(set) var events: String?

        init(json: [UInt8]) throws(AuthenticationFailure) {
            try forEachMember(of: json) { name, value throws(AuthenticationFailure) in
                switch name {
                case "iss": issuer = value.string
                case "sub": subject = value.string
                case "aud":
                    guard let audience = value.oneOrMoreStrings else { throw .malformed }
                    self.audience = audience
                case "azp":
                    guard let party = value.string else { throw .malformed }
                    self.party = party
                case "exp": expiration = value.numericDate
                case "iat": issuedAt = value.numericDate
                case "nbf": notBefore = value.numericDate
                case "nonce": nonce = value.string
                case "tid": tenant = value.string
                case "email": email = value.string
                // Apple writes it as a text too.
                case "email_verified": isEmailVerified = value.bool ?? (value.string == "true")
                case "name": self.name = value.string
                case "events":
                    events =
                        value.string ?? (value.kind == .object ? String(decoding: value.bytes, as: UTF8.self) : nil)
                default: break
                }
            }
        }

        /// At most 255 ASCII characters (OpenID Connect Core 1.0, section 2).
        var checkedSubject: String {
            get throws(IdentityFailure) { try Self.checked(subject) }
        }

        static func checked(_ subject: String?) throws(IdentityFailure) -> String {
            guard let subject, (1...255).contains(subject.utf8.count),
                subject.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
            else { throw .malformed }
            return subject
        }
    }
}

/// The statements of a provider's verified token about a person.
package struct IdentityClaims: Sendable, Equatable {
    package let issuer: String
    /// Unique with the issuer, and never given to another person.
    package let subject: String
    package let email: String?
    /// Whether the provider states that the address is this person's.
    package let isEmailVerified: Bool
    package let name: String?
}

/// The claims that a token must have to be accepted.
package struct IdentityRules: Sendable {
    /// The provider's issuer. `{tenantid}` stands for the token's `tid`, as at Microsoft.
    package var issuer: String
    /// Whether tokens may name it without `https://`, as Google's may.
    package var mayLackScheme = false
    /// The apps that the provider may have made the token for.
    package var clientIDs: [String]
    /// The texts of which the token's `nonce` must be one; `nil`: it is not checked.
    package var nonces: [String]?

    /// How much the clocks of a provider and of this server may differ, in ms.
    private static let leeway: Milliseconds = 30_000

    package init(issuer: String, mayLackScheme: Bool = false, clientIDs: [String], nonces: [String]?) {
        (self.issuer, self.mayLackScheme) = (issuer, mayLackScheme)
        (self.clientIDs, self.nonces) = (clientIDs, nonces)
    }

    func check(
        _ claims: IdentityToken.Claims, now: Timestamp, mustExpire: Bool = true
    ) throws(IdentityFailure) {
        _ = try issuer(of: claims)
        // An audience beside ours could use the token here, and `azp` is who asked for it.
        guard !claims.audience.isEmpty, claims.audience.allSatisfy(clientIDs.contains),
            claims.party.map(clientIDs.contains) ?? (claims.audience.count == 1)
        else { throw .wrongAudience }
        let end = try Self.time(claims.expiration)
        guard end != nil || !mustExpire else { throw .malformed }
        guard now < end.map({ $0 + Self.leeway }) ?? .max else { throw .expired }
        for begin in [try Self.time(claims.issuedAt), try Self.time(claims.notBefore)] {
            guard begin ?? 0 <= now + Self.leeway else { throw .notYetValid }
        }
        if let nonces {
            guard let nonce = claims.nonce, nonces.contains(where: { $0.utf8.elementsEqual(nonce.utf8) }) else {
                throw .wrongNonce
            }
        }
    }

    /// The issuer of a token, which is this provider.
    func issuer(of claims: IdentityToken.Claims) throws(IdentityFailure) -> String {
        guard let named = claims.issuer else { throw .wrongIssuer }
        let expected = try filled(issuer, claims)
        guard
            named.utf8.elementsEqual(expected.utf8)
                || mayLackScheme && "https://\(named)".utf8.elementsEqual(expected.utf8)
        else { throw .wrongIssuer }
        return expected
    }

    /// An issuer with the token's tenant.
    func filled(_ issuer: String, _ claims: IdentityToken.Claims) throws(IdentityFailure) -> String {
        guard let place = issuer.firstRange(of: Self.tenant) else { return issuer }
        guard let tenant = claims.tenant, tenant.utf8.count == 36,
            tenant.utf8.allSatisfy({
                $0 == 0x2D || UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 || 0x61...0x66 ~= $0
            })
        else { throw .wrongIssuer }
        var filled = issuer
        filled.replaceSubrange(place, with: tenant)
        return filled
    }

    /// In the issuer that Microsoft's configuration names for several tenants.
    package static let tenant = "{tenantid}"

    private static func time(_ seconds: Double?) throws(IdentityFailure) -> Timestamp? {
        guard let seconds else { return nil }
        guard (0...Authenticator.latestDate).contains(seconds) else { throw .malformed }
        return Timestamp(seconds * 1_000)
    }
}

/// The reason why an identity token was rejected. It contains nothing of the token, so it may be logged and sent.
package enum IdentityFailure: String, Error, Sendable, CustomStringConvertible {
    case malformed = "it is no identity token"
    case unknownKey = "the provider has no such key"
    case wrongAlgorithm = "it names another algorithm than its key's"
    case badSignature = "its signature is wrong"
    case wrongIssuer = "it is from another issuer"
    case wrongAudience = "it was made for another app"
    case expired = "it has expired"
    case notYetValid = "it is not valid yet"
    case wrongNonce = "its nonce is another"

    package var description: String { rawValue }
}
