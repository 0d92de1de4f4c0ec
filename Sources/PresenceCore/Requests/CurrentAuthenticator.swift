import Tokens

/// A holder for the authenticator, since keys change while the shard runs. Used only on the shard's thread.
final class CurrentAuthenticator {
    var authenticator: Authenticator

    init(_ authenticator: Authenticator) { self.authenticator = authenticator }
}
