import CSodium

/// The only way into libsodium, which must be initialised once. All functions may be called on any thread.
public enum Sodium {
    private static let isReady: Bool = sodium_init() >= 0

    static func start() { precondition(isReady, "libsodium cannot be used") }

    /// Random bytes for secrets.
    public static func random(_ count: Int) -> [UInt8] {
        start()
        var bytes = [UInt8](repeating: 0, count: count)
        randombytes_buf(&bytes, count)
        return bytes
    }

    /// The first 16 bytes of HMAC-SHA256.
    public static func mac(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
        Array(hmac(message, key: key).prefix(16))
    }

    /// The 32 bytes of HMAC-SHA256.
    public static func hmac(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
        start()
        var state = crypto_auth_hmacsha256_state()
        var mac = [UInt8](repeating: 0, count: Int(crypto_auth_hmacsha256_bytes()))
        crypto_auth_hmacsha256_init(&state, key, key.count)
        crypto_auth_hmacsha256_update(&state, message, UInt64(message.count))
        crypto_auth_hmacsha256_final(&state, &mac)
        return mac
    }

    public static func sha256(_ message: [UInt8]) -> [UInt8] {
        start()
        var digest = [UInt8](repeating: 0, count: Int(crypto_hash_sha256_bytes()))
        crypto_hash_sha256(&digest, message, UInt64(message.count))
        return digest
    }

    /// Compares in constant time, so the duration does not reveal where the two differ.
    public static func areEqual(_ a: [UInt8], _ b: [UInt8]) -> Bool {
        start()
        return a.count == b.count && sodium_memcmp(a, b, a.count) == 0
    }
}
