import Tokens

/// A holder for the authenticator, since keys change while the shard runs. On the shard's thread, like all its users.
final class CurrentAuthenticator {
    var authenticator: Authenticator

    init(_ authenticator: Authenticator) { self.authenticator = authenticator }
}
