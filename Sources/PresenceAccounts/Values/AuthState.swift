import PresenceKit

/// The state of the session on this device.
public enum AuthState: Hashable, Sendable {
    /// The stored session has not been read yet, or cannot be read now (the device was not unlocked since its start).
    case restoring
    /// No user is signed in, for this reason.
    case signedOut(AuthState.SignOutReason)
    /// A user is signed in. Stale: the account as last known, since that time. Live: the server has confirmed it in
    /// this process.
    case signedIn(Account, Freshness)

    /// The account of the signed-in user, if any.
    public var account: Account? {
        if case .signedIn(let account, _) = self { account } else { nil }
    }
}

extension Account {
    /// The outcome of a sign-up.
    public enum SignUpOutcome: Hashable, Sendable {
        /// The account exists, and its user is signed in.
        case signedIn(Account)
        /// The server does not reveal whether the address is new (`accounts.hideExisting`). The user follows the link in
        /// the mail, then signs in.
        case mailSent

        /// The account, if its user is signed in.
        public var account: Account? { if case .signedIn(let account) = self { account } else { nil } }
    }
}

extension AuthState {
    /// Why no user is signed in.
    public enum SignOutReason: Hashable, Sendable {
        /// No user was signed in on this device, or another process of the app that shares the ``SessionStore`` has signed
        /// out.
        case notSignedIn
        /// The app signed out.
        case requested
        /// The server ended the session: it expired, was signed out from another device or disabled, or its token was used
        /// twice.
        case refused(PresenceError.Reason?)
        /// The account was deleted on this device.
        case accountDeleted
    }
}

extension Account {
    /// The sessions that a sign-out ends.
    public enum SignOutScope: Hashable, Sendable {
        /// The session of this device only.
        case thisDevice
        /// All sessions of the user, including this one.
        case allDevices
        /// A session of ``AccountRepository/sessions()``, by its id.
        case session(String)
    }
}
