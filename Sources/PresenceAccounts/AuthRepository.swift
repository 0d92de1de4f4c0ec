import Foundation
import PresenceDomain
import PresenceKit

/// Signing up, in and out: what a view model of those needs, whatever is behind it. ``PresenceAccount`` is one.
///
/// Its calls throw ``AccountError``, or `CancellationError` when their task is cancelled.
public protocol AuthRepository: Sendable {
    /// Whether somebody is signed in: the present state at once, then the newest after each change.
    var states: PresenceUpdates<AuthState> { get }
    /// The account of the user who is signed in, as last known; no request is made for it.
    var currentAccount: Account? { get async }

    /// Makes an account and signs in.
    ///
    /// A server with `accounts.hideExisting` says nothing of whether the address has an account already, and signs nobody
    /// in: ``SignUpOutcome/mailSent``. A user who was signed in on this device before stays so then.
    ///
    /// - Parameters:
    ///   - displayName: without one, the server takes the part of the e-mail before `@`.
    ///   - username: a server with `accounts.hideExisting` passes over it; people claim theirs when they have signed in.
    /// - Throws: reasons `emailTaken`, `usernameTaken`, `invalidEmail`, `weakPassword`, `invalidUsername`,
    ///   `reservedUsername`.
    @discardableResult func signUp(
        email: String, password: String, displayName: String?, username: String?
    ) async throws -> SignUpOutcome

    /// Signs in. A user who is signed in on this device before is signed out.
    ///
    /// - Parameter email: the e-mail, or the username.
    /// - Throws: reason `invalidCredentials`: unknown, wrong password or disabled, without saying which.
    @discardableResult func signIn(email: String, password: String) async throws -> Account

    /// Ends sessions.
    func signOut(_ scope: SignOutScope) async throws

    /// Asks for a mail with which the password can be set anew. It succeeds for unknown addresses too.
    func resetPassword(email: String) async throws
    /// Sets the password anew, with the token of such a mail. All sessions of the user end, and nobody is signed in by it.
    ///
    /// - Throws: reasons `tokenExpired`, `weakPassword` (the token is still good then).
    func resetPassword(token: String, newPassword: String) async throws
    /// Confirms an e-mail, with the token of the mail that was sent to it.
    func verifyEmail(token: String) async throws
}

extension AuthRepository {
    /// The same without a username, and by default with the name that the server makes of the e-mail.
    @discardableResult public func signUp(
        email: String, password: String, displayName: String? = nil
    ) async throws -> SignUpOutcome {
        try await signUp(email: email, password: password, displayName: displayName, username: nil)
    }

    /// Ends the session of this device.
    public func signOut() async throws { try await signOut(.thisDevice) }
}

/// The account of the user who is signed in. ``PresenceAccount`` is one.
///
/// Its calls throw ``AccountError``, or `CancellationError` when their task is cancelled; with the code `notSignedIn` if
/// nobody is signed in.
public protocol AccountRepository: AuthRepository, UsernameRepository, PhotoRepository, SetupRepository {
    /// The own user as the server has them now, with what only they see.
    func currentUser() async throws -> User
    /// Changes account and profile: all of it, or nothing.
    @discardableResult func update(_ changes: AccountChanges) async throws -> User

    /// - Throws: reasons `invalidCredentials` (the present password is wrong), `weakPassword`. All other sessions end.
    func changePassword(from password: String, to newPassword: String) async throws
    /// Asks for another address. It holds once the mail that is sent to it is confirmed.
    ///
    /// - Throws: reasons `invalidCredentials`, `emailTaken`, `invalidEmail`.
    func changeEmail(to email: String, password: String) async throws
    /// Deletes the account, with everything that belongs to it, and signs out.
    ///
    /// - Throws: reason `invalidCredentials`.
    func deleteAccount(password: String) async throws

    /// The devices on which the user is signed in.
    func sessions() async throws -> [AccountSession]

    /// Whether a username may be taken; no one needs to be signed in for it.
    func availability(ofUsername username: String) async throws -> UsernameAvailability
    /// Takes a username, and gives back the one before.
    ///
    /// - Throws: reasons `usernameTaken`, `invalidUsername`, `reservedUsername`.
    @discardableResult func claimUsername(_ username: String) async throws -> Account
    /// Gives the username back; that there is none is no error.
    func releaseUsername() async throws
}

extension AccountRepository {
    // UsernameRepository

    /// While nobody is signed in there are no elements.
    public var ownUsernames: AsyncStream<String?> {
        let states = states
        return AsyncStream { elements in
            for await state in states {
                if let account = state.account { elements.yield(account.username) }
            }
        }
    }

    public func isAvailable(_ username: String) async throws -> Bool {
        let availability = try await availability(ofUsername: username)
        return availability == .available || availability == .yours
    }

    public func take(_ username: String) async throws {
        do {
            try await claimUsername(username)
        } catch let error as AccountError where error.code == .conflict || error.code == .validationFailed {
            throw UserError.invalid(field: "username", reason: error.localizedDescription)
        }
    }

    public func release() async throws { try await releaseUsername() }

    // SetupRepository

    public func completeSetup() async throws { try await update(AccountChanges(setupCompleted: true)) }
}
