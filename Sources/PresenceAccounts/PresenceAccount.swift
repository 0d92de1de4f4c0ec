import Foundation
import PresenceKit

/// The account of the user who is signed in on this device, on one presence server.
///
/// ```swift
/// let account = PresenceAccount(url: URL(string: "https://presence.example.org")!)
/// let client = PresenceClient(account: account)
/// ```
///
/// An app creates one and keeps it. It immediately reads the stored session: ``states`` changes from
/// ``AuthState/restoring`` to signed out, or to signed in with the last known account, which the server then confirms.
///
/// - Access tokens are renewed when needed, by one request at a time that all callers share.
/// - Only the server's rejection ends a session; a lost connection, a server error or a proxy's response does not. A
///   sign-out by another process of the app that shares the ``SessionStore`` takes effect here with the next renewal.
/// - A new refresh token is stored in the ``SessionStore`` before the access token that came with it is used.
public actor PresenceAccount: AccountRepository {
    /// Timeouts of an account. The defaults suit most apps.
    public struct Configuration: Hashable, Sendable {
        /// The idle timeout of a request.
        public var requestTimeout = Duration.seconds(15)
        /// The idle timeout of a picture's upload.
        public var uploadTimeout = Duration.seconds(60)
        /// The minimum remaining validity of an access token; otherwise it is renewed before it is used.
        public var renewalMargin = Duration.seconds(60)
        /// How long ``PresenceAccount/currentUser()`` waits for the server if the user is known on this device.
        public var patience = Duration.seconds(1)

        /// The defaults.
        public init() {}
    }

    /// The server's HTTP URL, as given.
    public nonisolated let url: URL
    nonisolated let stateFeed = AuthStates()
    nonisolated let server: AccountServer
    nonisolated let configuration: Configuration
    let store: any TokenStore
    let device: Device
    let logger: PresenceLogger?
    /// A clock that continues while the device sleeps.
    let uptime: @Sendable () -> Duration
    let sleep: @Sendable (Duration) async throws -> Void
    /// The requests, and the tasks that the account started.
    nonisolated let tasks = ClosableTasks()
    private let unlocks = Unlocks()

    /// Whether the store was read.
    var isRestored = false
    var session: Session?
    /// Incremented when the session changes or ends, so that responses for a former session have no effect.
    var generation = 0
    /// Incremented by each sign-in and sign-out of the app. It cancels a sign-in in progress; the end of the former
    /// session does not.
    var decisions = 0
    /// The number of account events received from the server.
    var eventCount = 0
    /// The version of the last such event; 0 before the first one of a session.
    var heardVersion: Int64 = 0
    var renewal: Task<String, any Error>?
    /// Refresh tokens of ended sessions that the server has not been notified of.
    var farewells: [String] = []
    var farewellPause = PresenceAccount.shortestFarewellPause
    /// Whether the next attempt is due after a delay.
    var isFarewellDue = false
    /// The id by which the server recognizes a repeated sign-up.
    var signUpAttempt: (email: String, id: String)?

    struct Session {
        var stored: StoredSession
        var access: (token: String, until: Duration)?
    }

    /// Creates the account of a device, and starts to read the stored session.
    ///
    /// - Parameters:
    ///   - url: the server's URL, such as `https://presence.example.org`, without a path of the API.
    ///   - store: stores the session.
    ///   - device: the kind and name shown in ``sessions()``.
    ///   - logger: receives failures, without tokens, addresses of users or passwords.
    public init(
        url: URL, store: SessionStore = .standard(), device: Device = Device(),
        configuration: Configuration = Configuration(), logger: PresenceLogger? = nil
    ) {
        self.init(
            url: url, store: store.tokens, device: device, configuration: configuration,
            transport: URLSessionHTTPTransport(), logger: logger)
    }

    /// With another store and transport, for tests.
    package init(
        url: URL, store: any TokenStore, device: Device = Device(), configuration: Configuration = Configuration(),
        transport: any HTTPTransport = URLSessionHTTPTransport(), logger: PresenceLogger? = nil
    ) {
        let beginning = ContinuousClock.now
        self.init(
            url: url, store: store, device: device, configuration: configuration, transport: transport, logger: logger,
            uptime: { ContinuousClock.now - beginning })
    }

    /// With another clock, for tests.
    package init(
        url: URL, store: any TokenStore, device: Device, configuration: Configuration, transport: any HTTPTransport,
        logger: PresenceLogger? = nil, uptime: @escaping @Sendable () -> Duration,
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) {
        (self.url, self.store, self.device, self.configuration) = (url, store, device, configuration)
        (self.logger, self.uptime, self.sleep) = (logger, uptime, sleep)
        server = AccountServer(
            url: url, transport: ClosableTransport(transport, tasks), timeout: configuration.requestTimeout)
        unlocks.observe { [weak self] in Task { try? await self?.restore() } }
        Task { [weak self] in try? await self?.restore() }
    }

    public nonisolated var states: PresenceUpdates<AuthState> {
        PresenceUpdates(AuthStates.Updates(account: self, states: stateFeed))
    }

    public var currentAccount: Account? {
        try? restore()
        return session?.stored.account
    }

    /// Ends all requests and loops for good: later calls throw `notConnected`. The session stays on the device.
    package func close() async {
        // A sign-in under way has no effect.
        decisions += 1
        let renewal = renewal
        await tasks.close()
        _ = await renewal?.result
        stateFeed.close()
    }

    // MARK: Stored data

    /// Reads the store, unless that was done. If it cannot be read, the next call tries again.
    func restore() throws {
        if tasks.isClosed { throw PresenceError.account(.notConnected, "the app closed the account") }
        guard !isRestored else { return }
        do {
            let stored = try storing { try $0.load() }
            isRestored = true
            keepFarewells { _ in }
            if !farewells.isEmpty { tasks.start { [weak self] in await self?.sendFarewells() } }
            guard let stored else { return stateFeed.publish(.signedOut(.notSignedIn)) }
            session = Session(stored: stored)
            publish(.stale(since: stored.savedAt))
        } catch {
            logger?.log(.error, "the session cannot be read: \(error)")
            throw error
        }
        // The server confirms or rejects the stored session.
        tasks.start { [weak self] in _ = try? await self?.accessToken() }
    }

    func storing<Value>(_ body: (any TokenStore) throws -> Value) throws -> Value {
        do {
            return try body(store)
        } catch let error as PresenceError {
            throw error
        } catch {
            throw PresenceError.account(.storageFailed, "\(error)")
        }
    }

    func publish(_ freshness: Freshness) {
        guard let session else { return }
        stateFeed.publish(.signedIn(session.stored.account, freshness))
    }

    /// The session and the event count at the time of a request.
    struct Asked {
        var generation: Int
        var events: Int
    }

    var asked: Asked { Asked(generation: generation, events: eventCount) }

    /// Applies the account of a response. Events received in the meantime may be newer; if they are not, an event with
    /// this account follows.
    func hold(_ account: Account, of asked: Asked) {
        guard asked.generation == generation, asked.events == eventCount else { return }
        hold(account)
    }

    /// Applies the account of an event; the larger version is the newer one, in whatever order they arrive.
    func heard(_ account: Account, version: Int64) {
        guard session?.stored.account.id == account.id, version > heardVersion else { return }
        heardVersion = version
        eventCount += 1
        hold(account)
    }

    private func hold(_ account: Account) {
        guard !tasks.isClosed, var stored = session?.stored, stored.account.id == account.id else { return }
        var account = account
        account.addProfile(of: stored.account)
        if stored.account != account {
            stored.account = account
            stored.savedAt = Date()
            // If it cannot be stored, the server sends it again after the next launch.
            do {
                // Another process of the app may have renewed the session, or ended it.
                if let kept = try store.load(), kept.account.id == account.id {
                    stored.refreshToken = kept.refreshToken
                    try store.save(stored)
                }
            } catch {
                logger?.log(.error, "the account cannot be stored: \(error)")
            }
            session?.stored = stored
        }
        publish(.live)
    }
}
