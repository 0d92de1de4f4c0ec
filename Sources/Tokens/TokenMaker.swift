import Foundation
public import PresenceProtocol
import Signing

/// Makes tokens with an installation's own secret: for trials, tests, and small backends.
public struct TokenMaker: Sendable {
    private let key: HMACKey

    public init(secret: TokenSecret) { key = secret.key() }

    init(key: HMACKey) { self.key = key }

    /// The rights of a token's bearer.
    public enum Role: String, Sendable, CaseIterable {
        case user
        /// Acts for the application: may use the backends' HTTP API. `sub` is then the backend's name.
        case backend
    }

    /// Makes a token.
    ///
    /// - Parameters:
    ///   - user: The claim `sub`.
    ///   - lifetime: How long it is valid, in ms from `now`.
    ///   - grant: The device's grant (the claim `grant`), if the token is for one.
    ///   - now: The time, in ms since 1970.
    public func make(
        user: UserID, lifetime: Milliseconds, role: Role = .user, grant: Identifier? = nil, now: Timestamp
    ) throws -> String {
        let payload = Payload(
            sub: user.string, exp: Self.numericDate(now + lifetime), iat: Self.numericDate(now),
            role: role == .backend ? role.rawValue : nil, grant: grant?.string)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let signed = Self.header + "." + Base64URL.encode(Array(try encoder.encode(payload)))
        return signed + "." + Base64URL.encode(key.sign(Array(signed.utf8)))
    }

    private struct Payload: Encodable {
        let sub: String
        let exp: Decimal
        let iat: Decimal
        let role: String?
        let grant: String?
    }

    /// Seconds with three decimals, exactly: a lifetime may be shorter than a second.
    private static func numericDate(_ time: Timestamp) -> Decimal { Decimal(time) / 1_000 }

    static let header = Base64URL.encode(Array(#"{"alg":"HS256","typ":"JWT"}"#.utf8))
}
