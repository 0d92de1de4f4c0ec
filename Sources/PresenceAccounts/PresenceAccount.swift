import Foundation
import PresenceDomain
import PresenceHTTP
import PresenceKit

/// The account of the user who is signed in on this device, at one presence server.
///
/// ```swift
/// let account = PresenceAccount(url: URL(string: "https://presence.example.org")!, store: FileTokenStore.standard())
/// let client = PresenceClient(account: account)
/// ```
///
/// An app makes one and keeps it. At its making it reads what the device keeps: ``states`` goes from
/// ``AuthState/restoring`` to signed out, or to signed in with the account as last known, which the server then confirms.
///
/// - Access tokens are renewed when they are needed, by one request at a time. All callers wait for that one.
/// - Only the server's refusal ends a session: no lost connection, no error of the server, nothing that a proxy says. A
///   sign-out of another process of the app, which shares the ``TokenStore``, ends it here with the next renewal.
/// - A new refresh token is in the ``TokenStore`` before the access token that came with it is used.
public actor PresenceAccount: AccountRepository {
    /// Times of an account; the defaults suit an app.
    public struct Configuration: Hashable, Sendable {
        /// How long nothing may happen in a request.
        public var requestTimeout = Duration.seconds(15)
        /// The same for the upload of a picture.
        public var uploadTimeout = Duration.seconds(60)
        /// An access token with less time left than this is renewed before it is used.
        public var renewalMargin = Duration.seconds(60)

        /// The defaults.
        public init() {}
    }

    /// The server's address over HTTP, as given.
    public nonisolated let url: URL
    nonisolated let stateFeed = AuthStates()
    nonisolated let server: AccountServer
    nonisolated let configuration: Configuration
    let store: any TokenStore
    let device: Device
    let logger: PresenceLogger?
    /// Time that goes on while the device sleeps.
    let uptime: @Sendable () -> Duration
    let sleep: @Sendable (Duration) async throws -> Void
    private let unlocks = Unlocks()

    /// `nil` until the store was read.
    var isRestored = false
    var session: Session?
    /// Grows when another session takes the place of this one, or none: what belongs to a former one has no effect.
    var generation = 0
    /// Grows with each sign-in and sign-out that was asked for here: one of them overtakes a sign-in that is under way, and
    /// the end of the former session does not.
    var decisions = 0
    /// How often the server has told of the account by itself.
    var eventCount = 0
    /// Of the last of these; 0 before the first of a session.
    var heardVersion: Int64 = 0
    var renewal: Task<String, any Error>?
    /// Refresh tokens of sessions of whose end the server has not been told.
    var farewells: [String] = []
    var farewellPause = PresenceAccount.shortestFarewellPause
    var farewellWait: Task<Void, Never>?
    /// The id that makes a repeated sign-up the same one.
    var signUpAttempt: (email: String, id: String)?

    struct Session {
        var stored: StoredSession
        var access: (token: String, until: Duration)?
    }

    /// Makes the account of a device. It begins at once to read what the device keeps.
    ///
    /// - Parameters:
    ///   - url: the server's address, such as `https://presence.example.org`, without a path of the API.
    ///   - store: where the session is kept; `KeychainTokenStore()` on Apple's systems.
    ///   - device: how it appears in ``sessions()``.
    ///   - transport: how requests are sent.
    ///   - logger: told what fails; no tokens, addresses of users or passwords.
    public init(
        url: URL, store: any TokenStore, device: Device = Device(), configuration: Configuration = Configuration(),
        transport: any HTTPTransport = URLSessionHTTPTransport(), logger: PresenceLogger? = nil
    ) {
        let beginning = ContinuousClock.now
        self.init(
            url: url, store: store, device: device, configuration: configuration, transport: transport, logger: logger,
            uptime: { ContinuousClock.now - beginning })
    }

    /// In another time, for tests.
    package init(
        url: URL, store: any TokenStore, device: Device, configuration: Configuration, transport: any HTTPTransport,
        logger: PresenceLogger? = nil, uptime: @escaping @Sendable () -> Duration,
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) {
        self.url = url
        self.store = store
        self.device = device
        self.configuration = configuration
        self.logger = logger
        self.uptime = uptime
        self.sleep = sleep
        server = AccountServer(url: url, transport: transport, timeout: configuration.requestTimeout)
        unlocks.follow { [weak self] in Task { try? await self?.restore() } }
        Task { [weak self] in try? await self?.restore() }
    }

    public nonisolated var states: PresenceUpdates<AuthState> {
        PresenceUpdates(AuthStates.Updates(account: self, states: stateFeed))
    }

    public var currentAccount: Account? {
        try? restore()
        return session?.stored.account
    }

    // MARK: What is kept

    /// Reads the store, if that was not done; where it cannot be read, the next call tries again.
    func restore() throws {
        guard !isRestored else { return }
        do {
            let stored = try storing { try $0.load() }
            isRestored = true
            keepFarewells { _ in }
            if !farewells.isEmpty { Task { [weak self] in await self?.sayFarewells() } }
            guard let stored else { return stateFeed.publish(.signedOut(.notSignedIn)) }
            session = Session(stored: stored)
            publish(.stale(since: stored.savedAt))
        } catch {
            logger?.log(.error, "the session cannot be read: \(error)")
            throw error
        }
        // What the device keeps is confirmed, or refused.
        Task { [weak self] in _ = try? await self?.accessToken() }
    }

    func storing<Value>(_ body: (any TokenStore) throws -> Value) throws -> Value {
        do {
            return try body(store)
        } catch let error as AccountError {
            throw error
        } catch {
            throw AccountError(.storageFailed, "\(error)")
        }
    }

    func publish(_ freshness: Freshness) {
        guard let session else { return }
        stateFeed.publish(.signedIn(session.stored.account, freshness))
    }

    /// When a request was made: by which session, and after how many events of its account.
    struct Asked {
        var generation: Int
        var events: Int
    }

    var asked: Asked { Asked(generation: generation, events: eventCount) }

    /// The server has answered with the account. What it told by itself meanwhile may be newer; if it is not, an event with
    /// this answer's account follows.
    func hold(_ account: Account, of asked: Asked) {
        guard asked.generation == generation, asked.events == eventCount else { return }
        hold(account)
    }

    /// The server tells of the account by itself; the larger version is the newer one, whichever comes first.
    func heard(_ account: Account, version: Int64) {
        guard session?.stored.account.id == account.id, version > heardVersion else { return }
        heardVersion = version
        eventCount += 1
        hold(account)
    }

    private func hold(_ account: Account) {
        guard var stored = session?.stored, stored.account.id == account.id else { return }
        if stored.account != account {
            stored.account = account
            stored.savedAt = Date()
            // It is told again after the next launch.
            do {
                // Another process of the app may have renewed the session, or ended it.
                if let kept = try store.load(), kept.account.id == account.id {
                    stored.refreshToken = kept.refreshToken
                    try store.save(stored)
                }
            } catch {
                logger?.log(.error, "the account cannot be kept: \(error)")
            }
            session?.stored = stored
        }
        publish(.live)
    }
}
