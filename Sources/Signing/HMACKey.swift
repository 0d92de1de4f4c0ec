import CSigning

/// A secret that signs and verifies (RFC 7518, section 3.2). Any thread may use it, and no description shows it.
public struct HMACKey: Sendable {
    public enum Algorithm: String, Sendable, CaseIterable {
        case hs256 = "HS256"
        case hs384 = "HS384"
        case hs512 = "HS512"

        /// The fewest bytes of a secret: as many as the hash has.
        public var shortest: Int {
            switch self {
            case .hs256: 32
            case .hs384: 48
            case .hs512: 64
            }
        }

        fileprivate var hash: csigning_hash {
            switch self {
            case .hs256: csigning_sha256
            case .hs384: csigning_sha384
            case .hs512: csigning_sha512
            }
        }
    }

    public let algorithm: Algorithm
    private let state: State

    /// - Returns: `nil` if the secret is too short for the algorithm.
    public init?(_ algorithm: Algorithm, secret: [UInt8]) {
        guard secret.count >= algorithm.shortest, let state = State(algorithm.hash, secret) else { return nil }
        self.algorithm = algorithm
        self.state = state
    }

    /// The HMAC of these bytes.
    public func sign(_ bytes: [UInt8]) -> [UInt8] {
        // Unsafe: the memory is the new array's own, and has room for the longest HMAC.
        let code = [UInt8](unsafeUninitializedCapacity: Int(csigning_longest_code)) { buffer, length in
            length = state.use { csigning_hmac_code($0, bytes, bytes.count, buffer.baseAddress) }
        }
        precondition(!code.isEmpty, "there is no memory for an HMAC")
        return code
    }

    /// Whether `code` is the whole HMAC of these bytes. The comparison takes the same time wherever they differ.
    public func verify(_ code: [UInt8], of bytes: ArraySlice<UInt8>) -> Bool {
        state.use { state in
            bytes.withUnsafeBufferPointer { bytes in
                csigning_hmac_verify(state, bytes.baseAddress, bytes.count, code, code.count)
            }
        }
    }

    /// Owns OpenSSL's state after the secret, and frees it.
    ///
    /// Unchecked: the state never changes. Several threads may copy it at the same time.
    private final class State: @unchecked Sendable {
        private let pointer: OpaquePointer

        init?(_ hash: csigning_hash, _ secret: [UInt8]) {
            guard let pointer = csigning_hmac_make(hash, secret, secret.count) else { return nil }
            self.pointer = pointer
        }

        deinit { csigning_hmac_free(pointer) }

        func use<Result>(_ body: (OpaquePointer) -> Result) -> Result { withExtendedLifetime(self) { body(pointer) } }
    }
}
