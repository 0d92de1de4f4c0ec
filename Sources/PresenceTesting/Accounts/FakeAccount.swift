import Foundation
import PresenceAccounts
import PresenceKit

// @unchecked: `state` is only touched with the lock.
/// Accounts in memory, and a record of the calls: an ``PresenceAccounts/AccountRepository`` with the server's rules.
///
/// It starts signed out, unless it is created with a user. Profiles of others are in `FakeUserRepository`.
public final class FakeAccount: AccountRepository, @unchecked Sendable {
    /// A call of the fake.
    public enum Call: Hashable, Sendable {
        case signUp(email: String, displayName: String?, username: String?)
        case signIn(email: String)
        case signOut(SignOutScope)
        case resetPassword(email: String)
        /// The password was reset with the token of a mail.
        case setPassword(token: String)
        case verifyEmail(token: String)
        case currentUser
        case update(ProfileChanges, preferredLanguage: Change<String>, setupCompleted: Bool?)
        case changePassword
        case changeEmail(String)
        case deleteAccount
        case sessions
        case availability(String)
        /// A user was looked up by username.
        case userNamed(String)
        case claimUsername(String)
        case releaseUsername
        case uploadPhoto(bytes: Int)
        case removePhoto
    }

    /// A mail that a server would have sent.
    public struct Mail: Hashable, Sendable {
        /// The recipient.
        public var email: String
        /// The token in its link.
        public var token: String
        /// Whether it is a password reset; otherwise it confirms the address.
        public var isReset: Bool
    }

    struct Record {
        var account: Account
        var password: String
        var user: User
    }

    struct State {
        /// By user id.
        var records: [String: Record] = [:]
        var current: String?
        var calls: [Call] = []
        var mails: [Mail] = []
        /// The users whose new address a mail confirms, by its token.
        var newEmails: [String: String] = [:]
        var failures: [(matches: @Sendable (Call) -> Bool, error: any Error)] = []
        var isOffline = false
        var hidesExisting = false
        var delay: Duration?
        var reserved: Set<String> = ["admin", "root", "support"]
        var otherSessions: [AccountSession] = []
        var last = 0
    }

    let lock = NSLock()
    var state = State()
    let feed: Feed<AuthState>
    /// The clock of ``delay``.
    public let clock: TestClock
    let passwordRule: PasswordRule

    /// - Parameters:
    ///   - user: the signed-in user; none by default. Without an e-mail it is `ID@example.org`.
    ///   - password: the user's password.
    public init(
        signedInAs user: User? = nil, password: String = "correct horse", passwordRule: PasswordRule = PasswordRule(),
        clock: TestClock = TestClock()
    ) {
        self.clock = clock
        self.passwordRule = passwordRule
        guard let user else {
            feed = Feed(.signedOut(.notSignedIn))
            return
        }
        let account = Account(
            id: user.id, email: user.email ?? "\(user.id)@example.org", emailVerified: true, username: user.username,
            createdAt: user.createdAt)
        feed = Feed(.signedIn(account, .live))
        state.records[user.id] = Record(account: account, password: password, user: user)
        state.current = user.id
    }

    // MARK: For assertions

    /// All calls, in order.
    public var calls: [Call] { lock.withLock { state.calls } }
    /// The mails with a valid token; mails whose token was used, or that were replaced by a newer one, are removed.
    public var mails: [Mail] { lock.withLock { state.mails } }

    // MARK: The script

    /// Makes the next matching call fail with `error`.
    public func fail(_ matches: @escaping @Sendable (Call) -> Bool = { _ in true }, with error: any Error) {
        lock.withLock { state.failures.append((matches, error)) }
    }

    /// While `true`, calls fail with `notConnected`; a sign-out on this device works.
    public var isOffline: Bool {
        get { lock.withLock { state.isOffline } }
        set { lock.withLock { state.isOffline = newValue } }
    }

    /// Whether to act as a server with `accounts.hideExisting`: sign-ups and e-mail changes do not reveal whether the
    /// address has an account, and a sign-up does not sign in. Passwords are valid at once, without the mail.
    public var hidesExisting: Bool {
        get { lock.withLock { state.hidesExisting } }
        set { lock.withLock { state.hidesExisting = newValue } }
    }

    /// The duration of calls, by ``clock``; `nil`: none.
    public var delay: Duration? {
        get { lock.withLock { state.delay } }
        set { lock.withLock { state.delay = newValue } }
    }

    /// The sessions of the user's other devices.
    public var otherSessions: [AccountSession] {
        get { lock.withLock { state.otherSessions } }
        set { lock.withLock { state.otherSessions = newValue } }
    }

    /// Sets the state for loops, for example a launch or an ended session.
    public func set(_ newer: AuthState) {
        lock.withLock {
            state.current = newer.account?.id
            if let account = newer.account, state.records[account.id] == nil {
                state.records[account.id] = Record(account: account, password: "", user: Self.user(of: account))
            }
        }
        publish(newer)
    }

    /// Ends the session as the server would.
    public func endSession(_ reason: PresenceError.Reason? = .tokenExpired) { set(.signedOut(.refused(reason))) }

    // MARK: AccountRepository

    public var states: PresenceUpdates<AuthState> { feed.updates }
    public var currentAccount: Account? { feed.value?.account }

    @discardableResult
    public func signUp(
        email: String, password: String, displayName: String?, username: String?
    ) async throws -> SignUpOutcome {
        try await record(.signUp(email: email, displayName: displayName, username: username))
        let account = try lock.withLock { () -> Account? in
            let address = try checked(email: email)
            try check(newPassword: password, field: "password")
            if let displayName, DisplayNameRule.fault(in: displayName) != nil {
                throw PresenceError.account(.validationFailed, field: "displayName")
            }
            let username = state.hidesExisting ? nil : username
            if let username { try check(username, of: nil) }
            guard let address else { return nil }
            let name =
                displayName.map(DisplayNameRule.trimmed) ?? DisplayNameRule.standard(for: EmailRule.trimmed(email))
            let account = make(address, password, name, username)
            mail(to: account.email, isReset: false)
            if state.hidesExisting { return nil }
            state.current = account.id
            return account
        }
        guard let account else { return .mailSent }
        publish(.signedIn(account, .live))
        return .signedIn(account)
    }

    @discardableResult
    public func signIn(email: String, password: String) async throws -> Account {
        try await record(.signIn(email: email))
        let account = try lock.withLock {
            let name = EmailRule.trimmed(email).lowercased()
            let record = state.records.values.first {
                $0.account.email == name || $0.account.username?.lowercased() == name
            }
            guard let record, record.password == password else {
                throw PresenceError.account(.unauthorized, reason: .invalidCredentials)
            }
            state.current = record.account.id
            return record.account
        }
        publish(.signedIn(account, .live))
        return account
    }

    public func signOut(_ scope: SignOutScope) async throws {
        try await record(.signOut(scope), isLocal: scope == .thisDevice)
        switch scope {
        case .thisDevice: set(.signedOut(.requested))
        case .allDevices:
            lock.withLock { state.otherSessions = [] }
            set(.signedOut(.requested))
        case .session("current"): endSession(nil)
        case .session(let id):
            try lock.withLock {
                guard state.otherSessions.contains(where: { $0.id == id }) else {
                    throw PresenceError.account(.notFound)
                }
                state.otherSessions.removeAll { $0.id == id }
            }
        }
    }

    public func resetPassword(email: String) async throws {
        try await record(.resetPassword(email: email))
        let email = EmailRule.trimmed(email).lowercased()
        lock.withLock {
            if state.records.values.contains(where: { $0.account.email == email }) { mail(to: email, isReset: true) }
        }
    }

    public func resetPassword(token: String, newPassword: String) async throws {
        try await record(.setPassword(token: token))
        let isOwn = try lock.withLock {
            let mail = try mail(token, isReset: true)
            try check(newPassword: newPassword, field: "password")
            state.mails.removeAll { $0 == mail }
            change(mail.email) {
                $0.password = newPassword
                $0.account.emailVerified = true
            }
            let isOwn = state.current.map { state.records[$0]?.account.email == mail.email } ?? false
            if isOwn { state.otherSessions = [] }
            return isOwn
        }
        if isOwn { endSession() }
    }

    public func verifyEmail(token: String) async throws {
        try await record(.verifyEmail(token: token))
        try lock.withLock {
            let mail = try mail(token, isReset: false)
            state.mails.removeAll { $0 == mail }
            if let user = state.newEmails.removeValue(forKey: token) {
                // Another user may have signed up with it in the meantime.
                if let email = try checked(email: mail.email) {
                    state.records[user]?.account.email = email
                    state.records[user]?.user.email = email
                }
            }
            change(mail.email) { $0.account.emailVerified = true }
        }
        publish()
    }
}
