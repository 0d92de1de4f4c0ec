public import PresenceProtocol

/// What a verified token says.
public struct Claims: Sendable, Equatable {
    /// The user that the token is for (`sub`); of a backend's token, the backend's name.
    public let subject: UserID
    /// Whether the bearer speaks for the application (`role` is exactly `backend`) and not for one user.
    public let isBackend: Bool
    /// When the token ends (`exp`).
    public let expiresAt: Timestamp
    /// When it was issued (`iat`), by its issuer's clock; `nil` if it does not say.
    public let issuedAt: Timestamp?

    /// The device's grant that it was made for (`grant`), of tokens that the server itself has issued: the token is worth
    /// nothing once that has ended. `nil` for all others.
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

/// Why a token was refused. It holds nothing of the token, so it may be logged and sent.
public enum AuthenticationFailure: Error, Sendable, Equatable, CustomStringConvertible {
    /// Not three parts in base64url, or not JSON, or longer than ``Authenticator/longestToken``.
    case malformed
    /// Signed by a key that this server does not know.
    case unknownKey
    /// The header names another algorithm than the key's.
    case wrongAlgorithm
    /// The header demands an extension (`crit`), and none is understood.
    case unsupportedExtension
    case badSignature
    case expired
    /// `nbf` or `iat` lie ahead.
    case notYetValid
    /// Issued before all tokens of its user were revoked.
    case revoked
    /// The claim is missing where it is required, or has a value that it cannot have.
    case badClaim(Claim)

    /// The claims that are looked at.
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
