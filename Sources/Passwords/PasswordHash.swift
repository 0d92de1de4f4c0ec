import CSodium
import Foundation

/// A stored password: argon2id by libsodium, with its parameters.
///
/// version 1 │ memory in KiB, 4 bytes, little-endian │ passes │ salt, 16 │ hash, 32
///
/// These are 54 bytes. A field of more than 64 bytes would make Redis store the account's hash as a table, which takes
/// twice the memory.
public struct PasswordHash: Sendable, Equatable {
    public let bytes: [UInt8]

    /// The cost of a hash: 19 MiB, two passes and one lane, which OWASP recommends first. A hash takes 21 ms of CPU on
    /// the development machine, and touches 4,865 pages of memory twice.
    public struct Parameters: Sendable, Equatable {
        public var memory: UInt32 = 19_456
        public var passes: UInt8 = 2
        public init() {}

        public init(memory: UInt32, passes: UInt8) {
            self.memory = memory
            self.passes = passes
        }

        /// The default for hashing and verifying. Only the simulator, which hashes thousands of passwords, changes it.
        @TaskLocal package static var standard = Parameters()
    }

    private static let version: UInt8 = 1
    private static let saltCount = 16
    private static let hashCount = 32
    private static let headCount = 6

    /// A stored hash; `nil` if the bytes are no stored hash.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.headCount + Self.saltCount + Self.hashCount, bytes[0] == Self.version else {
            return nil
        }
        self.bytes = bytes
        // The lower bounds are libsodium's. The upper one, 1 GiB, is about the memory of a machine.
        guard (8...1_048_576).contains(parameters.memory), parameters.passes >= 1 else { return nil }
    }

    /// Hashes a password. Do not call this on a loop: it takes long. It takes as much memory as the parameters state.
    ///
    /// - Parameter parameters: `nil`: the standard ones.
    public init(of password: String, _ parameters: Parameters? = nil) {
        let parameters = parameters ?? .standard
        let salt = Sodium.random(Self.saltCount)
        self.init(parameters, salt, hash: Self.hash(password, salt, parameters))
    }

    private init(_ parameters: Parameters, _ salt: [UInt8], hash: [UInt8]) {
        let memory = (0..<4).map { UInt8(truncatingIfNeeded: parameters.memory >> ($0 * 8)) }
        bytes = [Self.version] + memory + [parameters.passes] + salt + hash
    }

    /// Random bytes in place of a hash. No password matches them. They are verified for users who do not exist, so that
    /// an answer for them takes as long as for users who exist.
    public static var ofNobody: PasswordHash {
        PasswordHash(.standard, Sodium.random(saltCount), hash: Sodium.random(hashCount))
    }

    /// Whether the password matches. It takes as long as hashing.
    public func matches(_ password: String) -> Bool {
        Sodium.areEqual(Self.hash(password, salt, parameters), Array(bytes.suffix(Self.hashCount)))
    }

    public var parameters: Parameters {
        Parameters(memory: (1...4).reversed().reduce(0) { $0 << 8 | UInt32(bytes[$1]) }, passes: bytes[5])
    }

    /// Whether its parameters are weaker than the current ones.
    public func isWeaker(than wanted: Parameters? = nil) -> Bool {
        let wanted = wanted ?? .standard
        return parameters.memory < wanted.memory || parameters.passes < wanted.passes
    }

    private var salt: [UInt8] { Array(bytes[Self.headCount..<(Self.headCount + Self.saltCount)]) }

    /// Keyboards encode the same letters in different ways: NFKC unifies them.
    private static func hash(_ password: String, _ salt: [UInt8], _ parameters: Parameters) -> [UInt8] {
        Sodium.start()
        let text = Array(password.precomposedStringWithCompatibilityMapping.utf8)
        var hash = [UInt8](repeating: 0, count: hashCount)
        let outcome = text.withUnsafeBytes { text in
            crypto_pwhash(
                &hash, UInt64(hashCount), text.baseAddress?.assumingMemoryBound(to: CChar.self) ?? empty,
                UInt64(text.count), salt, UInt64(parameters.passes), Int(parameters.memory) * 1_024,
                crypto_pwhash_ALG_ARGON2ID13)
        }
        // Hashing fails only without memory. The random bytes match no password.
        return outcome == 0 ? hash : Sodium.random(hashCount)
    }

    /// The pointer of an empty password. Owned by the program; any thread may read it.
    nonisolated(unsafe) private static let empty: UnsafePointer<CChar> = UnsafePointer(strdup(""))
}
