import Crypto
import Foundation

/// Makes the tokens of the tool's own clients, as the app's backend would: HS256 with the server's secret.
struct TokenMint {
    private let key: SymmetricKey
    private let head: String

    init(secret: some Collection<UInt8>) {
        key = SymmetricKey(data: Data(secret))
        head = Self.base64URL(Data(#"{"alg":"HS256","typ":"JWT"}"#.utf8))
    }

    /// Reads the secret that the server's first start wrote; white space around it does not count.
    init(file: String) throws(Failure) {
        let text: String
        do {
            text = try String(contentsOfFile: file, encoding: .utf8)
        } catch {
            throw Failure("cannot read the secret in \(file): has the server been started with this data directory?")
        }
        let secret = text.trimmingCharacters(in: .whitespacesAndNewlines)
        guard !secret.isEmpty else { throw Failure("the secret in \(file) is empty") }
        self.init(secret: secret.utf8)
    }

    /// A token that says who its bearer is, for `lifetime` seconds from now. `user` is printable ASCII.
    func token(user: String, lifetime: Int = 86_400) -> String {
        let expiry = Int(Date().timeIntervalSince1970) + lifetime
        let subject = user.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        let body = Self.base64URL(Data(#"{"sub":"\#(subject)","exp":\#(expiry)}"#.utf8))
        let signed = "\(head).\(body)"
        let signature = HMAC<SHA256>.authenticationCode(for: Data(signed.utf8), using: key)
        return "\(signed).\(Self.base64URL(Data(signature)))"
    }

    private static func base64URL(_ data: Data) -> String {
        data.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}
