import Foundation
import PresenceAccounts
import PresenceKit
import PresenceMessages

// Users who sign in at the server, and the app's parts with an account.
extension InMemoryServer {
    /// Creates an app of this server, as ``PresenceMessages/PresenceApp/init(url:storage:sessions:device:accountConfiguration:clientConfiguration:messagesConfiguration:logger:)``
    /// does.
    ///
    /// - Parameters:
    ///   - user: a user who is signed in on the device, with the e-mail `USER@example.org` and the password
    ///     `correct horse`; an account is added if there is none. Without one, no user is signed in.
    ///   - storage: the device's storage.
    public func app(as user: String? = nil, storage: Storage = .memory()) -> PresenceApp {
        let account = account(MemoryTokenStore(user.map(signIn)))
        let client = client(
            token: account.tokenProvider(), storage: storage, listeners: ["ownAccount": account.listener])
        return PresenceApp(account: account, client: client, messages: PresenceMessenger(client))
    }

    func account(_ store: any TokenStore) -> PresenceAccount {
        PresenceAccount(
            url: URL(string: "https://presence.example.org")!, store: store, device: Device(), configuration: .init(),
            transport: self, uptime: { [clock] in clock.now.offset })
    }

    /// Signs a user in on a device, as an earlier launch of the app has.
    private func signIn(_ user: String) -> StoredSession {
        addAccount(user)
        return change { state in
            let grant = state.addGrant(of: user, ["kind": "phone"])
            let held = state.accounts[user]!
            return StoredSession(
                refreshToken: "r-\(grant)-0", account: Account(id: user, email: held.email, username: held.username),
                savedAt: Date(timeIntervalSince1970: Double(state.now) / 1_000))
        }
    }

    /// Adds an account, unless the user has one.
    public func addAccount(
        _ user: String, email: String? = nil, password: String = "correct horse", displayName: String? = nil,
        username: String? = nil
    ) {
        change { state in
            guard state.accounts[user] == nil else { return }
            state.addAccount(user, email ?? "\(user)@example.org", password, displayName, username)
        }
    }

    /// The token in the newest mail to an address, until it is used: to reset the password, or to confirm the address.
    public func mailToken(to email: String, resetsPassword: Bool = false) -> String? {
        state.withLock { $0.mails.last { $0.email == email && $0.isReset == resetsPassword }?.token }
    }

    /// The code to sign in with, in the newest mail to an address, until it is used.
    public func mailCode(to email: String) -> String? { state.withLock { $0.codes[email] } }

    /// Ends all sessions of a user, as a backend does.
    public func endSessions(of user: String) { change { $0.endSessions(of: user) } }

    /// Whether the server acts as one with `accounts.hideExisting`: sign-ups and e-mail changes do not reveal whether an
    /// address has an account, and a sign-up does not sign in.
    public var hidesExisting: Bool {
        get { state.withLock { $0.hidesExisting } }
        set { change { $0.hidesExisting = newValue } }
    }

    /// The pictures and files that were uploaded, in order.
    public var uploads: [Data] { state.withLock { $0.uploads } }

    /// The registration for pushes of a user's device: `pushToken` and `platform`; `nil` if there is none.
    public func device(of user: String) -> [String: any Sendable]? { state.withLock { $0.devices[user] } }
}
