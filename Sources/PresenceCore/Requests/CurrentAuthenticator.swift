import Tokens

/// What a shard verifies tokens with: a place for the authenticator, since keys come and go while the shard runs.
/// On the shard's thread, like all that uses it.
final class CurrentAuthenticator {
    var authenticator: Authenticator

    init(_ authenticator: Authenticator) { self.authenticator = authenticator }
}
