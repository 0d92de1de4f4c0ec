import Foundation
import PresenceKit

/// Sign-up, sign-in and sign-out, and the account of the signed-in user: what a view model needs, independent of the
/// implementation. ``PresenceAccount`` implements it.
///
/// Calls throw ``PresenceError``, or `CancellationError` if their task is cancelled. A call that needs a signed-in user
/// throws the code `notSignedIn` if there is none.
public protocol AccountRepository: ProfileRepository {
    /// Observes the session: the current state at once, then the newest after each change.
    var states: PresenceUpdates<AuthState> { get }
    /// The last known account of the signed-in user; makes no request.
    var currentAccount: Account? { get async }

    /// Creates an account and signs in.
    ///
    /// A server with `accounts.hideExisting` does not reveal whether the address has an account, and does not sign the
    /// user in: ``Account/SignUpOutcome/mailSent``. A user who was signed in on this device stays signed in.
    ///
    /// - Parameters:
    ///   - displayName: by default the server uses the part of the e-mail before `@`.
    ///   - username: ignored by a server with `accounts.hideExisting`; users then claim one after they have signed in.
    /// - Throws: reasons `emailTaken`, `usernameTaken`, `invalidEmail`, `weakPassword`, `invalidUsername`,
    ///   `reservedUsername`.
    @discardableResult func signUp(
        email: String, password: String, displayName: String?, username: String?
    ) async throws -> Account.SignUpOutcome

    /// Signs in. A user who was signed in on this device is signed out.
    ///
    /// - Parameter email: the e-mail, or the username.
    /// - Throws: reason `invalidCredentials` for an unknown user, a wrong password or a disabled account, without
    ///   distinction.
    @discardableResult func signIn(email: String, password: String) async throws -> Account

    /// Requests a mail with a code, and with a link, for ``signIn(email:code:displayName:)``. Also succeeds for addresses
    /// without an account, which get a mail only from a server with `accounts.mailCodeSignUp`.
    func requestCode(email: String) async throws
    /// Signs in with the newest mail of ``requestCode(email:)``, for 10 minutes and once. A user who was signed in on this
    /// device is signed out.
    ///
    /// - Parameters:
    ///   - code: the six digits of the mail, or the token of its link (`signin#email=…&token=…`).
    ///   - displayName: the name of a new user, if the server creates one (`accounts.mailCodeSignUp`).
    /// - Throws: reason `invalidCredentials` for a wrong, used or expired code.
    @discardableResult func signIn(email: String, code: String, displayName: String?) async throws -> Account

    /// Creates an account without an address and a password, and signs in. It lasts as long as this session: a guest who
    /// signs out cannot come back, unless ``upgrade(email:password:)`` was called. The server deletes guests who are not
    /// used for 30 days (`accounts.guests.keepFor`).
    ///
    /// - Parameter displayName: `Guest` by default.
    /// - Throws: reason `guestsOff` on a server without guests.
    @discardableResult func signInAsGuest(displayName: String?) async throws -> Account
    /// Gives the signed-in guest an address and a password. User, conversations and sessions stay. A mail confirms the
    /// address, as after a sign-up.
    ///
    /// - Returns: `mailSent` from a server with `accounts.hideExisting`: address and password count when the mailed link
    ///   is opened.
    /// - Throws: reasons `emailTaken`, `invalidEmail`, `weakPassword`; `alreadyUpgraded` if the user is no guest.
    @discardableResult func upgrade(email: String, password: String) async throws -> Account.SignUpOutcome

    /// Ends sessions.
    func signOut(_ scope: Account.SignOutScope) async throws

    /// Requests a mail for setting a new password. Also succeeds for addresses without an account.
    func resetPassword(email: String) async throws
    /// Sets a new password, with the token from the mail. All sessions of the user end; the call does not sign in.
    ///
    /// - Throws: reasons `tokenExpired`, `weakPassword` (the token stays valid).
    func resetPassword(token: String, newPassword: String) async throws
    /// Confirms an e-mail address, with the token from the mail that was sent to it.
    func verifyEmail(token: String) async throws

    // MARK: The account of the signed-in user

    /// Reads the signed-in user from the server, including their private members. If the server cannot be reached, or
    /// is silent, it returns the user as last read on this device, if it has read them.
    ///
    /// Without any request, `await currentAccount.map(User.init)` is the user as last read.
    func currentUser() async throws -> User
    /// Changes account and profile. The server applies all of the changes or none.
    ///
    /// - Parameters:
    ///   - changes: the changes of the profile. A name cannot be removed. A picture's URL is one of the app's own;
    ///     ``uploadPhoto(_:)`` stores a picture on the server.
    ///   - preferredLanguage: a BCP 47 tag, visible only to the user.
    ///   - setupCompleted: whether the user has completed the app's first form; `nil` keeps it.
    @discardableResult func update(
        _ changes: ProfileChanges, preferredLanguage: Change<String>, setupCompleted: Bool?
    ) async throws -> User

    /// Changes the password. All other sessions end.
    ///
    /// - Throws: reasons `invalidCredentials` (the current password is wrong), `weakPassword`.
    func changePassword(from password: String, to newPassword: String) async throws
    /// Requests a new address. It takes effect when the mail sent to it is confirmed.
    ///
    /// - Throws: reasons `invalidCredentials`, `emailTaken`, `invalidEmail`.
    func changeEmail(to email: String, password: String) async throws
    /// Deletes the account with all its data, and signs out.
    ///
    /// - Parameter password: `nil` for a guest, who has none.
    /// - Throws: reason `invalidCredentials`.
    func deleteAccount(password: String?) async throws

    /// Deletes the account, and if wanted all messages that the user wrote, and signs out. The messages are deleted within
    /// seconds, also if the server fails meanwhile.
    ///
    /// - Throws: as ``deleteAccount(password:)``; `notOffered` by a repository that deletes no messages.
    func deleteAccount(password: String?, messages: Account.MessageFate) async throws

    /// The user's sessions, one for each device.
    func sessions() async throws -> [Account.Session]

    /// Whether a username can be claimed; needs no signed-in user.
    func availability(ofUsername username: String) async throws -> Account.UsernameAvailability
    /// Claims a username, and releases the former one.
    ///
    /// - Throws: reasons `usernameTaken`, `invalidUsername`, `reservedUsername`.
    @discardableResult func claimUsername(_ username: String) async throws -> Account
    /// Finds a user by username, for the signed-in user.
    ///
    /// - Returns: the user's id, with name and picture if they may be seen, and always offline; `nil` if the username
    ///   has no owner, or one who does not let the signed-in user find them.
    /// - Throws: `rateLimited` beyond some 60 calls a minute.
    func user(named username: String) async throws -> User?
    /// Releases the username; does nothing if there is none.
    func releaseUsername() async throws
}

extension AccountRepository {
    /// Signs up without a username, and by default with the name that the server derives from the e-mail.
    @discardableResult public func signUp(
        email: String, password: String, displayName: String? = nil
    ) async throws -> Account.SignUpOutcome {
        try await signUp(email: email, password: password, displayName: displayName, username: nil)
    }

    // Each has fewer parameters than the requirement: one with all of them would be its default implementation.

    /// Changes profile and language; by default nothing.
    @discardableResult public func update(
        _ changes: ProfileChanges = ProfileChanges(), preferredLanguage: Change<String> = .keep
    ) async throws -> User {
        try await update(changes, preferredLanguage: preferredLanguage, setupCompleted: nil)
    }

    /// Changes the profile, and whether the user has completed the app's first form.
    @discardableResult public func update(
        _ changes: ProfileChanges = ProfileChanges(), setupCompleted: Bool?
    ) async throws -> User {
        try await update(changes, preferredLanguage: .keep, setupCompleted: setupCompleted)
    }

    /// Changes the language, and whether the user has completed the app's first form.
    @discardableResult public func update(
        preferredLanguage: Change<String>, setupCompleted: Bool?
    ) async throws -> User {
        try await update(ProfileChanges(), preferredLanguage: preferredLanguage, setupCompleted: setupCompleted)
    }

    // For repositories that were written before there were codes, guests, and a choice at the deletion.

    public func requestCode(email: String) async throws { throw Self.noCodes }
    public func signIn(email: String, code: String, displayName: String?) async throws -> Account { throw Self.noCodes }
    private static var noCodes: PresenceError { PresenceError(.notOffered, "this repository has no codes by mail") }

    public func signInAsGuest(displayName: String?) async throws -> Account { throw Self.noGuests }
    public func upgrade(email: String, password: String) async throws -> Account.SignUpOutcome { throw Self.noGuests }
    private static var noGuests: PresenceError { PresenceError(.notOffered, "this repository has no guests") }

    public func deleteAccount(password: String?, messages: Account.MessageFate) async throws {
        guard messages == .keep else { throw PresenceError(.notOffered, "this repository deletes no messages") }
        try await deleteAccount(password: password)
    }

    /// Ends the session of this device.
    public func signOut() async throws { try await signOut(.thisDevice) }

    // ProfileRepository

    /// Yields nothing while no user is signed in.
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
        } catch let error as PresenceError where error.code == .conflict || error.code == .validationFailed {
            throw error.invalidating("username")
        }
    }

    public func release() async throws { try await releaseUsername() }

    public func completeSetup() async throws { try await update(setupCompleted: true) }
}
