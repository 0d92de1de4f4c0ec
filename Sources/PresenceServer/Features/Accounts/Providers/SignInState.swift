import Foundation
import Passwords
import PresenceProtocol
import Signing

/// A sign-in that a browser has begun at a provider. It is the browser's cookie, sealed with the installation's key, so any server
/// can continue it, and only this browser.
struct SignInState: Codable, Equatable {
    var provider: String
    /// Returned by the provider with its answer.
    var state = Self.random()
    /// The secret of PKCE (RFC 7636).
    var verifier = Self.random()
    /// In the identity token.
    var nonce = Self.random()
    /// The address to which the browser returns at the end.
    var address: String
    /// SHA-256 of a secret of the page, in base64url: the code is traded with this secret only.
    var challenge: String?
    var until: Timestamp

    /// How long a user may take at the provider.
    static let lifetime: Milliseconds = 600_000

    static func random() -> String { Base64URL.encode(Sodium.random(32)) }

    /// The challenge of a secret (RFC 7636, S256).
    static func challenge(of verifier: String) -> String { Base64URL.encode(Sodium.sha256(Array(verifier.utf8))) }

    func sealed(with key: [UInt8]) -> String? {
        guard let json = try? JSONEncoder().encode(self) else { return nil }
        let text = Base64URL.encode(Array(json))
        return text + "." + Self.seal(text, key)
    }

    /// `nil` if the text was not sealed here, or is over.
    init?(sealed text: String, with key: [UInt8], at now: Timestamp) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, Self.isSame(Self.seal(parts[0], key), parts[1]),
            let json = Base64URL.decode(Array(parts[0].utf8)[...]),
            let read = try? JSONDecoder().decode(Self.self, from: Data(json)), now < read.until
        else { return nil }
        self = read
    }

    init(provider: String, address: String, challenge: String?, until: Timestamp) {
        (self.provider, self.address, self.challenge, self.until) = (provider, address, challenge, until)
    }

    private static func seal(_ text: String, _ key: [UInt8]) -> String {
        Base64URL.encode(Sodium.hmac(Array("sign-in \(text)".utf8), key: key))
    }

    /// In the same time wherever they differ.
    static func isSame(_ one: String, _ other: String) -> Bool {
        guard one.utf8.count == other.utf8.count else { return false }
        return zip(one.utf8, other.utf8).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
}

/// The texts of a query or of a form (`application/x-www-form-urlencoded`).
struct FormFields {
    private var values: [String: String] = [:]

    /// `nil` if a name is there twice: parsers do not agree on which of them counts.
    init?(_ text: String) {
        for pair in text.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = Self.decoded(parts[0]), let value = Self.decoded(parts.count == 2 ? parts[1] : ""),
                values.updateValue(value, forKey: name) == nil
            else { return nil }
        }
    }

    subscript(name: String) -> String? { values[name] }

    private static func decoded(_ text: Substring) -> String? {
        text.replacing("+", with: " ").removingPercentEncoding
    }

    /// Encodes fields.
    static func text(_ fields: [(String, String)]) -> String {
        let plain = CharacterSet(
            charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
        return fields.map { name, value in
            name + "=" + (value.addingPercentEncoding(withAllowedCharacters: plain) ?? "")
        }.joined(separator: "&")
    }
}
