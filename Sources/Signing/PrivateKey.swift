import CSigning

/// A key that signs, for one algorithm only. Any thread may use it, and no description shows it.
public struct PrivateKey: Sendable {
    public let algorithm: SignatureAlgorithm
    let key: KeyHandle

    /// Reads PEM: PKCS #8, or the older PKCS #1 and SEC 1, not encrypted.
    ///
    /// - Returns: `nil` unless the text has exactly one key, for this algorithm and not weak (``PublicKey``).
    public init?(_ algorithm: SignatureAlgorithm, pem: String) {
        let key = pem.utf8.withContiguousBytes {
            $0.withMemoryRebound(to: CChar.self) { csigning_private_key(algorithm.scheme, $0.baseAddress, $0.count) }
        }
        guard let key = KeyHandle(key) else { return nil }
        self.algorithm = algorithm
        self.key = key
    }

    /// A new key on P-256, for ES256.
    ///
    /// - Throws: ``SigningFailure`` without random numbers.
    public init() throws(SigningFailure) {
        guard let key = KeyHandle(csigning_new_key()) else { throw SigningFailure() }
        (algorithm, self.key) = (.es256, key)
    }

    /// The key on P-256 as PEM (PKCS #8, not encrypted): for a file that only its owner may read.
    public var pem: String {
        // Unsafe: the memory is the new string's own.
        let pem = String(unsafeUninitializedCapacity: Int(csigning_longest_pem)) { buffer in
            buffer.withMemoryRebound(to: CChar.self) { text in
                key.use { csigning_private_pem($0, text.baseAddress, text.count) }
            }
        }
        precondition(!pem.isEmpty, "there is no memory for a key as PEM")
        return pem
    }

    /// The half that verifies.
    public var publicKey: PublicKey { PublicKey(algorithm, key: key) }

    /// The signature over these bytes. ECDSA and PSS make a different one each time.
    public func sign(_ bytes: [UInt8]) throws(SigningFailure) -> [UInt8] {
        // Unsafe: the memory is the new array's own, and has room for the longest signature.
        let signature = [UInt8](unsafeUninitializedCapacity: Int(csigning_longest_signature)) { buffer, length in
            length = key.use { csigning_sign($0, algorithm.scheme, bytes, bytes.count, buffer.baseAddress) }
        }
        guard !signature.isEmpty else { throw SigningFailure() }
        return signature
    }
}

/// OpenSSL could not sign, for lack of memory or of random numbers.
public struct SigningFailure: Error, CustomStringConvertible {
    public var description: String { "the key does not sign" }
}
