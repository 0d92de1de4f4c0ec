import Foundation
import Signing

/// Makes the tokens of the tool's own clients, as an app's backend would: HS256 with the server's secret.
struct TokenMint {
    private let key: HMACKey
    private static let head = Base64URL.encode(Array(#"{"alg":"HS256","typ":"JWT"}"#.utf8))

    /// `nil` if the secret is shorter than any server's.
    init?(secret: String) {
        guard let key = HMACKey(.hs256, secret: Array(secret.utf8)) else { return nil }
        self.key = key
    }

    /// Reads the secret that the server's first start wrote, without white space around it.
    init(file: String) throws(Failure) {
        let text: String
        do {
            text = try String(contentsOfFile: file, encoding: .utf8)
        } catch {
            throw Failure("cannot read the secret in \(file): has the server been started with this data directory?")
        }
        let secret = text.trimmingCharacters(in: .whitespacesAndNewlines)
        guard !secret.isEmpty else { throw Failure("the secret in \(file) is empty") }
        guard let mint = TokenMint(secret: secret) else { throw Failure("the secret in \(file) is too short") }
        self = mint
    }

    /// A token for a user, valid for `lifetime` seconds from now. `user` is printable ASCII.
    func token(user: String, lifetime: Int = 86_400) -> String {
        let expiry = Int(Date().timeIntervalSince1970) + lifetime
        var subject = user
        if user.utf8.contains(where: { $0 == 0x22 || $0 == 0x5C }) {
            subject = user.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        }
        let body = Base64URL.encode(Array(#"{"sub":"\#(subject)","exp":\#(expiry)}"#.utf8))
        let signed = "\(Self.head).\(body)"
        return "\(signed).\(Base64URL.encode(key.sign(Array(signed.utf8))))"
    }
}
