import CSigning

/// Encrypts messages for a subscriber of Web Push: a browser's keys (RFC 8291), and the encoding `aes128gcm` (RFC 8188).
///
/// Only the subscriber can read them, not the push service. Any thread may use it.
public struct PushEncryption: Sendable {
    /// Bytes of the longest message. With 103 of its own, the encoding then has the 4,096 that each push service takes.
    public static let longest = 3_993

    private let subscriber: PublicKey
    private let point: [UInt8]
    private let secret: [UInt8]

    private static let (saltBytes, secretBytes, keyBytes, nonceBytes, tagBytes) = (16, 16, 16, 12, 16)
    /// A record is as long as this at most; a message is one record.
    private static let recordSize: UInt32 = 4_096
    /// Follows the last record's content.
    private static let lastDelimiter: UInt8 = 2

    /// - Parameters:
    ///   - point: The subscriber's public key `p256dh`: 65 bytes.
    ///   - secret: The subscriber's `auth`: 16 bytes.
    /// - Returns: `nil` for other lengths, and for a point beside the curve.
    public init?(point: [UInt8], secret: [UInt8]) {
        guard secret.count == Self.secretBytes, let subscriber = PublicKey(point: point) else { return nil }
        (self.subscriber, self.point, self.secret) = (subscriber, point, secret)
    }

    /// The message, encrypted with a new key. Takes some 150 µs.
    public func encrypt(_ message: [UInt8]) throws(SigningFailure) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        let salt = (0..<Self.saltBytes).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        return try encrypt(message, with: try PrivateKey(), salt: salt)
    }

    /// - Parameters:
    ///   - key: Of this message alone.
    ///   - salt: Of this message alone: 16 bytes.
    func encrypt(_ message: [UInt8], with key: PrivateKey, salt: [UInt8]) throws(SigningFailure) -> [UInt8] {
        precondition(message.count <= Self.longest && salt.count == Self.saltBytes, "the message is too long")
        let sender = key.publicKey.point
        var shared = [UInt8](repeating: 0, count: 32)
        let isAgreed = key.key.use { own in subscriber.key.use { csigning_agree(own, $0, &shared) } }
        guard isAgreed else { throw SigningFailure() }
        let keying = try Self.derive(32, salt: secret, shared, "WebPush: info", context: point + sender)
        let contentKey = try Self.derive(Self.keyBytes, salt: salt, keying, "Content-Encoding: aes128gcm")
        let nonce = try Self.derive(Self.nonceBytes, salt: salt, keying, "Content-Encoding: nonce")
        let content = message + [Self.lastDelimiter]
        var sealed = [UInt8](repeating: 0, count: content.count + Self.tagBytes)
        guard csigning_seal(contentKey, nonce, content, content.count, &sealed) else { throw SigningFailure() }
        let size = withUnsafeBytes(of: Self.recordSize.bigEndian) { Array($0) }
        return salt + size + [UInt8(sender.count)] + sender + sealed
    }

    private static func derive(
        _ count: Int, salt: [UInt8], _ secret: [UInt8], _ label: String, context: [UInt8] = []
    ) throws(SigningFailure) -> [UInt8] {
        var key = [UInt8](repeating: 0, count: count)
        let info = Array(label.utf8) + [0] + context
        guard csigning_hkdf(salt, salt.count, secret, secret.count, info, info.count, &key, count) else {
            throw SigningFailure()
        }
        return key
    }
}
