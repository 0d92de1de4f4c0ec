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
        var subject = user
        if user.utf8.contains(where: { $0 == 0x22 || $0 == 0x5C }) {
            subject = user.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        }
        let body = Self.base64URL(Data(#"{"sub":"\#(subject)","exp":\#(expiry)}"#.utf8))
        let signed = "\(head).\(body)"
        let signature = HMAC<SHA256>.authenticationCode(for: Data(signed.utf8), using: key)
        return "\(signed).\(Self.base64URL(Data(signature)))"
    }

    /// By bytes, since every connection has a token of its own.
    private static func base64URL(_ data: Data) -> String {
        var output: [UInt8] = []
        output.reserveCapacity((data.count * 4 + 2) / 3)
        var bits: UInt32 = 0
        var count: UInt32 = 0
        for byte in data {
            bits = bits << 8 | UInt32(byte)
            count += 8
            while count >= 6 {
                count -= 6
                output.append(alphabet[Int(bits >> count & 0x3F)])
            }
        }
        if count > 0 { output.append(alphabet[Int(bits << (6 - count) & 0x3F)]) }
        return String(decoding: output, as: UTF8.self)
    }

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
}
