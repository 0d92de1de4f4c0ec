public import PresenceProtocol

/// The verified claims of a token.
public struct Claims: Sendable, Equatable {
    /// The user of the token (`sub`); for a backend's token, the backend's name.
    public let subject: UserID
    /// Whether the bearer acts for the application (`role` is exactly `backend`) and not for one user.
    public let isBackend: Bool
    /// When the token expires (`exp`).
    public let expiresAt: Timestamp
    /// When it was issued (`iat`), by its issuer's clock; `nil` without the claim.
    public let issuedAt: Timestamp?

    /// The grant of the device for which the token was made (`grant`), in tokens that the server itself has issued: the
    /// token becomes invalid when the grant ends. `nil` in all other tokens.
    public let grant: Identifier?

    package init(
        subject: UserID, isBackend: Bool, expiresAt: Timestamp, issuedAt: Timestamp? = nil, grant: Identifier? = nil
    ) {
        self.subject = subject
        self.isBackend = isBackend
        self.expiresAt = expiresAt
        self.issuedAt = issuedAt
        self.grant = grant
    }
}

/// The reason why a token was rejected. It contains nothing of the token, so it may be logged and sent.
public enum AuthenticationFailure: Error, Sendable, Equatable, CustomStringConvertible {
    /// The token is not three parts in base64url, or not JSON, or longer than ``Authenticator/longestToken``.
    case malformed
    /// Signed by a key that this server does not know.
    case unknownKey
    /// The header names another algorithm than the key's.
    case wrongAlgorithm
    /// The header requires an extension (`crit`), and none is supported.
    case unsupportedExtension
    case badSignature
    case expired
    /// `nbf` or `iat` lie in the future.
    case notYetValid
    /// The token was issued before all tokens of its user were revoked.
    case revoked
    /// A claim is missing although it is required, or has an invalid value.
    case badClaim(Claim)

    /// The claims that are checked.
    public enum Claim: String, Sendable {
        case subject = "sub"
        case expiration = "exp"
        case notBefore = "nbf"
        case issuedAt = "iat"
        case issuer = "iss"
        case audience = "aud"
        case role
        case grant
    }

    public var description: String {
        switch self {
        case .malformed: "the token is not a JSON Web Token"
        case .unknownKey: "the token is signed by a key that is not known here"
        case .wrongAlgorithm: "the token names another algorithm than its key's"
        case .unsupportedExtension: "the token demands an extension that is not understood here"
        case .badSignature: "the token's signature is wrong"
        case .expired: "the token has expired"
        case .notYetValid: "the token is not valid yet"
        case .revoked: "the token was revoked"
        case .badClaim(let claim): "the token's claim \"\(claim.rawValue)\" is missing or not acceptable"
        }
    }
}
