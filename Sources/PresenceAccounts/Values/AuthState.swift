import PresenceKit

/// Whether somebody is signed in on this device.
public enum AuthState: Hashable, Sendable {
    /// What the device keeps was not read yet, or cannot be read now (a device that was not unlocked since its start).
    case restoring
    /// Nobody is signed in, and why.
    case signedOut(SignOutReason)
    /// Stale: as this device last knew the account, since then. Live: the server has confirmed it in this process.
    case signedIn(Account, Freshness)

    /// The account, if somebody is signed in.
    public var account: Account? {
        if case .signedIn(let account, _) = self { account } else { nil }
    }
}

/// What a sign-up came to.
public enum SignUpOutcome: Hashable, Sendable {
    /// There is an account, and its user is signed in.
    case signedIn(Account)
    /// The server does not say whether the address is new (`accounts.hideExisting`). A mail says how to go on: the user
    /// follows its link, then signs in.
    case mailSent

    /// The account, if its user is signed in.
    public var account: Account? { if case .signedIn(let account) = self { account } else { nil } }
}

/// Why nobody is signed in.
public enum SignOutReason: Hashable, Sendable {
    /// Nobody was signed in on this device; or another process of the app, which shares the ``TokenStore``, has signed out.
    case notSignedIn
    /// The app asked for it.
    case requested
    /// The server has ended the session: expired, signed out from another device, disabled, or its token was used twice.
    case refused(AccountError.Reason?)
    /// The account was deleted on this device.
    case accountDeleted
}

/// What a sign-out ends.
public enum SignOutScope: Hashable, Sendable {
    /// The session of this device only.
    case thisDevice
    /// All sessions of the user, this one too.
    case allDevices
    /// A session of ``AccountRepository/sessions()``, by its id.
    case session(String)
}
