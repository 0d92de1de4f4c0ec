public import PresenceProtocol

/// The tokens that are accepted, in addition to those made with the data directory's own secret.
public struct AuthenticationSettings: Sendable, Equatable {
    public var keys: [Key] = []
    /// A file with a JSON Web Key Set; each key needs a `kid`.
    public var jwksFile: String?
    /// Time between two checks for changed key files; 0: checks only on request.
    public var keyCheck: Milliseconds = 5_000
    /// How far ahead a token's `nbf` and `iat` may lie, since clocks differ. `exp` has no such grace.
    public var leeway: Milliseconds = 5_000
    /// The required `iss` of a token, if set.
    public var issuer: String?
    /// The required member of a token's `aud`, if set.
    public var audience: String?

    public init() {}

    /// A public key in a PEM file, or a certificate, of which only the key is used.
    public struct Key: Sendable, Equatable {
        /// The `kid` in the header of the tokens that it signs.
        public var kid: String
        /// RS256, ES256 or EdDSA: the only `alg` that its tokens may name.
        public var alg: String
        /// The path of the PEM file.
        public var file: String

        public init(kid: String, alg: String, file: String) {
            self.kid = kid
            self.alg = alg
            self.file = file
        }
    }
}
