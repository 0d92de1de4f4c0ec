import Foundation
import Installation
import Passwords

/// The keys that sign the calls of an endpoint, after Standard Webhooks: `whsec_` and the base64 of 24 to 64 bytes.
///
/// A file has one, or several while they change: then each signs.
struct WebhookSecret: Sendable, Equatable {
    private let keys: [[UInt8]]

    private static let prefix = "whsec_"
    private static let mostKeys = 4

    /// - Throws: what is wrong with a text that is none.
    init(_ text: String) throws(StartFailure) {
        let words = text.split(whereSeparator: \.isWhitespace)
        guard (1...Self.mostKeys).contains(words.count) else {
            throw StartFailure("must hold one secret, or up to \(Self.mostKeys) while they change, one a line")
        }
        var keys: [[UInt8]] = []
        for word in words {
            guard word.hasPrefix(Self.prefix), let key = Data(base64Encoded: String(word.dropFirst(Self.prefix.count))),
                (24...64).contains(key.count)
            else { throw StartFailure("must hold whsec_ and the base64 of 24 to 64 bytes") }
            keys.append(Array(key))
        }
        self.keys = keys
    }

    /// - Throws: what is wrong with the file, in words without anything of the secret.
    init(file: String) throws(StartFailure) {
        let data = try PlainFile.read(file)
        guard !PlainFile.isExposed(file) else {
            throw StartFailure("\(file) can be read by every user of this machine: chmod 600 is needed")
        }
        do throws(StartFailure) {
            try self.init(String(decoding: data, as: UTF8.self))
        } catch {
            throw StartFailure("\(file) \(error)")
        }
    }

    /// The header `webhook-signature`: `v1,BASE64` of each secret, with a space between two.
    ///
    /// - Parameter timestamp: Of this attempt, in seconds since 1970.
    func signature(id: String, timestamp: Int64, body: [UInt8]) -> String {
        let signed = Array("\(id).\(timestamp).".utf8) + body
        return keys.map { "v1," + Data(Sodium.hmac(signed, key: $0)).base64EncodedString() }.joined(separator: " ")
    }
}
