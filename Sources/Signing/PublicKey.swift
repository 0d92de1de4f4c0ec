import CSigning

/// A key that verifies signatures, for one algorithm only.
///
/// Any thread may use it. Weak and wrong keys are refused: RSA below 2048 bits, another curve than the algorithm's, a point
/// beside the curve.
public struct PublicKey: Sendable {
    public let algorithm: SignatureAlgorithm
    let key: KeyHandle

    init(_ algorithm: SignatureAlgorithm, key: KeyHandle) {
        self.algorithm = algorithm
        self.key = key
    }

    /// Reads PEM: a public key, or a certificate, of which only the key counts, not its dates or its issuer.
    ///
    /// - Returns: `nil` unless the text has exactly one key, for this algorithm. Private keys are refused too.
    public init?(_ algorithm: SignatureAlgorithm, pem: String) {
        let key = pem.utf8.withContiguousBytes {
            $0.withMemoryRebound(to: CChar.self) { csigning_public_key(algorithm.scheme, $0.baseAddress, $0.count) }
        }
        guard let key = KeyHandle(key) else { return nil }
        self.init(algorithm, key: key)
    }

    /// - Returns: `nil` if the key does not suit the algorithm.
    public init?(_ algorithm: SignatureAlgorithm, jwk: JWK) {
        guard let numbers = jwk.numbers(for: algorithm),
            let key = KeyHandle(
                csigning_key_of_numbers(
                    algorithm.scheme, numbers.first, numbers.first.count, numbers.second, numbers.second.count))
        else { return nil }
        self.init(algorithm, key: key)
    }

    /// Reads a point of P-256, uncompressed (SEC 1, section 2.3.3): 65 bytes.
    ///
    /// - Returns: `nil` for any other length or form, and for a point beside the curve.
    public init?(point: [UInt8]) {
        guard point.count == Self.pointBytes, point[0] == 4,
            let key = KeyHandle(
                point.withUnsafeBufferPointer {
                    csigning_key_of_numbers(csigning_es256, $0.baseAddress! + 1, 32, $0.baseAddress! + 33, 32)
                })
        else { return nil }
        self.init(.es256, key: key)
    }

    static let pointBytes = 65

    /// The point of a key on P-256, uncompressed.
    public var point: [UInt8] {
        var point = [UInt8](repeating: 0, count: Self.pointBytes)
        precondition(algorithm == .es256 && key.use { csigning_point($0, &point) }, "the key has no point of P-256")
        return point
    }

    /// Whether `signature` is this key's signature over exactly these bytes.
    ///
    /// Measured, in µs of CPU: RS256 with 2048 bits 16, ES256 45, EdDSA 65.
    public func verify(_ signature: [UInt8], of bytes: ArraySlice<UInt8>) -> Bool {
        key.use { key in
            bytes.withUnsafeBufferPointer { bytes in
                csigning_verify(
                    key, algorithm.scheme, bytes.baseAddress, bytes.count, signature, signature.count)
            }
        }
    }
}

extension String.UTF8View {
    /// Lends the text's bytes for a call.
    func withContiguousBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        withContiguousStorageIfAvailable(body) ?? Array(self).withUnsafeBufferPointer(body)
    }
}
