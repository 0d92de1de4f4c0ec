import Foundation
import PresenceAccounts
import PresenceDomain
import PresenceKit
import PresenceKitTesting

/// Accounts in memory, and what was asked for: an ``PresenceAccounts/AccountRepository`` that keeps the server's rules.
///
/// It begins signed out, unless it is made with a user. The access to others' profiles is `FakeUserRepository`'s.
// @unchecked: `state` is only touched with the lock.
public final class FakeAccount: AccountRepository, @unchecked Sendable {
    /// What was asked of the fake.
    public enum Call: Hashable, Sendable {
        case signUp(email: String, displayName: String?, username: String?)
        case signIn(email: String)
        case signOut(SignOutScope)
        case resetPassword(email: String)
        case setPassword(token: String)
        case verifyEmail(token: String)
        case currentUser
        case update(AccountChanges)
        case changePassword
        case changeEmail(String)
        case deleteAccount
        case sessions
        case availability(String)
        case claimUsername(String)
        case releaseUsername
        case uploadPhoto(bytes: Int)
        case removePhoto
    }

    /// A mail that would have been sent.
    public struct Mail: Hashable, Sendable {
        public var email: String
        public var token: String
        /// Whether it sets the password anew; else it confirms the address.
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
        var failures: [(matches: @Sendable (Call) -> Bool, error: any Error)] = []
        var isOffline = false
        var delay: Duration?
        var reserved: Set<String> = ["admin", "root", "support"]
        var otherSessions: [AccountSession] = []
        var last = 0
    }

    let lock = NSLock()
    var state = State()
    let feed: Feed<AuthState>
    /// Whose time ``delay`` is of.
    public let clock: TestClock
    private let passwordRule: PasswordRule

    /// - Parameters:
    ///   - user: who is signed in; nobody unless given. Without an e-mail it is `ID@example.org`.
    ///   - password: theirs.
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

    // MARK: What the test looks at

    /// What was asked for, in order.
    public var calls: [Call] { lock.withLock { state.calls } }
    public var mails: [Mail] { lock.withLock { state.mails } }

    // MARK: The script

    /// The next call that matches fails with `error`.
    public func fail(_ matches: @escaping @Sendable (Call) -> Bool = { _ in true }, with error: any Error) {
        lock.withLock { state.failures.append((matches, error)) }
    }

    /// While it is so, calls fail with `notConnected`; a sign-out on this device works.
    public var isOffline: Bool {
        get { lock.withLock { state.isOffline } }
        set { lock.withLock { state.isOffline = newValue } }
    }

    /// How long calls take, of ``clock``; `nil`: no time.
    public var delay: Duration? {
        get { lock.withLock { state.delay } }
        set { lock.withLock { state.delay = newValue } }
    }

    /// The user's other devices.
    public var otherSessions: [AccountSession] {
        get { lock.withLock { state.otherSessions } }
        set { lock.withLock { state.otherSessions = newValue } }
    }

    /// What loops get: a launch, an ended session.
    public func set(_ newer: AuthState) {
        lock.withLock { if newer.account == nil { state.current = nil } }
        feed.send(newer)
    }

    /// The server ends the session.
    public func endSession(_ reason: AccountError.Reason? = .tokenExpired) { set(.signedOut(.refused(reason))) }

    // MARK: AuthRepository

    public var states: PresenceUpdates<AuthState> { feed.updates }
    public var currentAccount: Account? { feed.value?.account }

    @discardableResult
    public func signUp(
        email: String, password: String, displayName: String?, username: String?
    ) async throws -> Account {
        try await answer(.signUp(email: email, displayName: displayName, username: username))
        let account = try lock.withLock {
            if EmailRule.fault(in: email) != nil {
                throw AccountError(.validationFailed, reason: .invalidEmail, field: "email")
            }
            try check(newPassword: password, field: "password")
            if state.records.values.contains(where: { $0.account.email == email.lowercased() }) {
                throw AccountError(.conflict, reason: .emailTaken, field: "email")
            }
            if let username { try check(username, of: nil) }
            state.last += 1
            let id = "u-\(state.last)"
            let account = Account(id: id, email: email.lowercased(), username: username)
            let name = displayName ?? DisplayNameRule.standard(for: email)
            let user = User(id: id, email: account.email, displayName: name, username: username, isOnline: true)
            state.records[id] = Record(account: account, password: password, user: user)
            state.current = id
            mail(to: account.email, isReset: false)
            return account
        }
        feed.send(.signedIn(account, .live))
        return account
    }

    @discardableResult
    public func signIn(email: String, password: String) async throws -> Account {
        try await answer(.signIn(email: email))
        let account = try lock.withLock {
            let name = email.lowercased()
            let record = state.records.values.first {
                $0.account.email == name || $0.account.username?.lowercased() == name
            }
            guard let record, record.password == password else {
                throw AccountError(.unauthorized, reason: .invalidCredentials)
            }
            state.current = record.account.id
            return record.account
        }
        feed.send(.signedIn(account, .live))
        return account
    }

    public func signOut(_ scope: SignOutScope) async throws {
        try await answer(.signOut(scope), isLocal: scope == .thisDevice)
        switch scope {
        case .thisDevice: set(.signedOut(.requested))
        case .allDevices:
            lock.withLock { state.otherSessions = [] }
            set(.signedOut(.requested))
        case .session("current"): endSession(nil)
        case .session(let id):
            try lock.withLock {
                guard state.otherSessions.contains(where: { $0.id == id }) else { throw AccountError(.notFound) }
                state.otherSessions.removeAll { $0.id == id }
            }
        }
    }

    public func resetPassword(email: String) async throws {
        try await answer(.resetPassword(email: email))
        lock.withLock {
            if state.records.values.contains(where: { $0.account.email == email.lowercased() }) {
                mail(to: email.lowercased(), isReset: true)
            }
        }
    }

    public func resetPassword(token: String, newPassword: String) async throws {
        try await answer(.setPassword(token: token))
        try lock.withLock {
            let mail = try mail(token, isReset: true)
            try check(newPassword: newPassword, field: "password")
            state.mails.removeAll { $0 == mail }
            change(mail.email) {
                $0.password = newPassword
                $0.account.emailVerified = true
            }
            state.otherSessions = []
        }
        if feed.value?.account != nil { endSession() }
    }

    public func verifyEmail(token: String) async throws {
        try await answer(.verifyEmail(token: token))
        try lock.withLock {
            let mail = try mail(token, isReset: false)
            state.mails.removeAll { $0 == mail }
            change(mail.email) { $0.account.emailVerified = true }
        }
        publish()
    }

    // MARK: With the lock held

    private func mail(to email: String, isReset: Bool) {
        state.mails.removeAll { $0.email == email && $0.isReset == isReset }
        state.last += 1
        state.mails.append(Mail(email: email, token: "token-\(state.last)", isReset: isReset))
    }

    private func mail(_ token: String, isReset: Bool) throws -> Mail {
        guard let mail = state.mails.first(where: { $0.token == token && $0.isReset == isReset }) else {
            throw AccountError(.unauthorized, reason: .tokenExpired)
        }
        return mail
    }

    private func change(_ email: String, _ body: (inout Record) -> Void) {
        for id in state.records.keys where state.records[id]!.account.email == email { body(&state.records[id]!) }
    }

    func check(newPassword: String, field: String) throws {
        if let fault = passwordRule.fault(in: newPassword) {
            throw AccountError(.validationFailed, fault, reason: .weakPassword, field: field)
        }
    }

    func check(_ username: String, of user: String?) throws {
        switch availability(of: username, for: user) {
        case .invalid: throw AccountError(.validationFailed, reason: .invalidUsername, field: "username")
        case .reserved: throw AccountError(.validationFailed, reason: .reservedUsername, field: "username")
        case .taken: throw AccountError(.conflict, reason: .usernameTaken, field: "username")
        default: break
        }
    }

    func availability(of username: String, for user: String?) -> UsernameAvailability {
        let name = username.lowercased()
        if UsernameRule.fault(in: username) != nil { return .invalid }
        if state.reserved.contains(name) { return .reserved }
        let owner = state.records.values.first { $0.account.username?.lowercased() == name }
        guard let owner else { return .available }
        return owner.account.id == user ? .yours : .taken
    }
}
