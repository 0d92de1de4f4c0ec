import Passwords
import PresenceCore
import PresenceProtocol

/// The text of a key: `presence_key_ID_SECRET`, with a prefix by which scanners for secrets recognise it. The store has the digest
/// of the secret, which is 256 random bits.
struct BackendKey {
    var id: String
    private let secret: String

    static let prefix = "presence_key_"
    private static let (idDigits, secretDigits) = (16, 64)

    var text: String { "\(Self.prefix)\(id)_\(secret)" }
    var digest: String { Sodium.sha256(Array(secret.utf8)).hexadecimal }

    /// A new one.
    init() {
        id = Sodium.random(Self.idDigits / 2).hexadecimal
        secret = Sodium.random(Self.secretDigits / 2).hexadecimal
    }

    /// `nil` for a text that cannot be a key.
    init?(_ text: String) {
        guard text.hasPrefix(Self.prefix) else { return nil }
        let parts = text.dropFirst(Self.prefix.count).split(separator: "_", omittingEmptySubsequences: false)
        guard parts.count == 2, Self.isHexadecimal(parts[0], Self.idDigits),
            Self.isHexadecimal(parts[1], Self.secretDigits)
        else { return nil }
        (id, secret) = (String(parts[0]), String(parts[1]))
    }

    private static func isHexadecimal(_ text: Substring, _ count: Int) -> Bool {
        text.utf8.count == count
            && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }

    // MARK: Names

    static let longestName = 64

    /// Why a text cannot be the name of a key; `nil` if it can. A name is also an argument of commands.
    static func brokenRule(by name: String) -> String? {
        let isPlain = name.utf8.allSatisfy {
            (0x30...0x39).contains($0) || (0x61...0x7A).contains($0) || [0x2D, 0x2E, 0x5F].contains($0)
        }
        guard (1...longestName).contains(name.utf8.count), isPlain, name.utf8.first != 0x2D else {
            return "must be 1 to \(longestName) of a to z, 0 to 9, - . and _, and not begin with -"
        }
        return isHexadecimal(name[...], idDigits) ? "must not look like the id of a key" : nil
    }
}

/// A key as the store has it.
struct StoredKey: Encodable {
    let id: String
    let name: String
    let scopes: [String]
    let createdAt: Timestamp
    let expiresAt: Timestamp?
    let rotatedAt: Timestamp?
    /// Until when the secret before the last rotation is accepted.
    let oldUntil: Timestamp?

    /// `nil` for a row that no server has written.
    init?(_ id: String, _ row: String) {
        let words = row.split(separator: " ").map(String.init)
        guard words.count == 8, let createdAt = Timestamp(words[2]), words[4].utf8.count == 64 else { return nil }
        (self.id, name, self.createdAt) = (id, words[0], createdAt)
        scopes = words[1].split(separator: ",").map(String.init)
        (expiresAt, rotatedAt, oldUntil) = (Timestamp(words[3]), Timestamp(words[5]), Timestamp(words[7]))
    }

    var json: [UInt8] {
        var json = Array(#"{"id":"\#(id)""#.utf8)
        JSONWriter.member("name", name, to: &json)
        json += Array(#","scopes":[\#(scopes.map { JSONWriter.encoded($0) }.joined(separator: ","))]"#.utf8)
        JSONWriter.member("createdAt", createdAt, to: &json)
        if let expiresAt { JSONWriter.member("expiresAt", expiresAt, to: &json) }
        if let rotatedAt { JSONWriter.member("rotatedAt", rotatedAt, to: &json) }
        if let oldUntil { JSONWriter.member("oldUntil", oldUntil, to: &json) }
        return json + [UInt8(ascii: "}")]
    }

    /// The keys of a reply to `HGETALL`, by name.
    static func all(_ words: [String]) -> [StoredKey] {
        stride(from: 0, to: words.count - 1, by: 2).compactMap { StoredKey(words[$0], words[$0 + 1]) }
            .sorted { $0.name < $1.name }
    }
}
