import Foundation
import PresenceDomain

/// Users in memory, and what was asked for.
// @unchecked: `state` is only touched with the lock.
public final class FakeUserRepository: UserRepository, @unchecked Sendable {
    struct State {
        var users: [String: User] = [:]
        var feeds: [String: Feed<User>] = [:]
        var failure: (any Error)?
        var isOffline = false
        var updates: [UserChanges] = []
        var onlineChanges: [Bool] = []
        var takenUsernames: Set<String> = []
        var usernameChecks: [String] = []
        var delay: Duration?
        var uploads: [Data] = []
        var setupsCompleted = 0
    }

    let lock = NSLock()
    var state = State()
    private let refusals = Feed<UserError>()
    let me: String
    public let clock: TestClock

    /// - Parameter me: whose changes ``update(_:)`` makes.
    public init(_ users: [User] = [], me: String = "me", clock: TestClock = TestClock()) {
        self.me = me
        self.clock = clock
        for user in users { state.users[user.id] = user }
    }

    // MARK: What the test looks at

    /// The changes that were made or tried, in order.
    public var updates: [UserChanges] { lock.withLock { state.updates } }
    /// What was told with ``setOnline(_:)``.
    public var onlineChanges: [Bool] { lock.withLock { state.onlineChanges } }
    /// The usernames that were asked for.
    public var usernameChecks: [String] { lock.withLock { state.usernameChecks } }

    /// The pictures that were uploaded, or tried.
    public var uploads: [Data] { lock.withLock { state.uploads } }
    /// How often the first form was noted as done.
    public var setupsCompleted: Int { lock.withLock { state.setupsCompleted } }

    // MARK: The script

    /// While it is not `nil`, every call fails with it.
    public var failure: (any Error)? {
        get { lock.withLock { state.failure } }
        set { lock.withLock { state.failure = newValue } }
    }

    /// While it is so, changes are queued and reads are stale.
    public var isOffline: Bool {
        get { lock.withLock { state.isOffline } }
        set { lock.withLock { state.isOffline = newValue } }
    }

    public var takenUsernames: Set<String> {
        get { lock.withLock { state.takenUsernames } }
        set { lock.withLock { state.takenUsernames = newValue } }
    }

    /// How long calls take, of ``clock``; `nil`: no time.
    public var delay: Duration? {
        get { lock.withLock { state.delay } }
        set { lock.withLock { state.delay = newValue } }
    }

    public func set(_ user: User) {
        let feed = lock.withLock {
            state.users[user.id] = user
            return state.feeds[user.id]
        }
        feed?.send(user)
    }

    /// A change that was queued will not be made.
    public func refuse(_ error: UserError) { refusals.send(error) }

    // MARK: UserRepository

    public var updateRefusals: AsyncStream<UserError> { stream(of: refusals) { $0 } }

    public func user(_ id: User.ID) async throws -> User {
        try await answer()
        guard let user = lock.withLock({ state.users[id] }) else { throw UserError.userNotFound(id) }
        return user
    }

    public func users(_ ids: [User.ID]) async throws -> Users {
        try await answer()
        let (users, isOffline) = lock.withLock { (state.users, state.isOffline) }
        return Users(ids.compactMap { users[$0] }, missing: ids.filter { users[$0] == nil }, isStale: isOffline)
    }

    public func userUpdates(of id: User.ID) -> AsyncStream<User> {
        let feed = lock.withLock {
            let feed = state.feeds[id] ?? Feed(state.users[id])
            state.feeds[id] = feed
            return feed
        }
        return stream(of: feed) { $0 }
    }

    @discardableResult
    public func update(_ changes: UserChanges) async throws -> UserUpdate {
        lock.withLock { state.updates.append(changes) }
        try await answer()
        if isOffline { return .queued }
        var user = lock.withLock { state.users[me] } ?? User(id: me, displayName: "")
        if let name = changes.displayName { user.displayName = name }
        if let url = changes.profileImageURL { user.profileImageURL = url }
        if let timezone = changes.timezone { user.timezone = timezone }
        if let locale = changes.locale { user.locale = locale }
        set(user)
        return .saved(user)
    }

    public func onlineUpdates(of id: User.ID) -> AsyncStream<Bool> {
        let feed = lock.withLock {
            let feed = state.feeds[id] ?? Feed(state.users[id])
            state.feeds[id] = feed
            return feed
        }
        return stream(of: feed) { $0.isOnline }
    }

    public func setOnline(_ isOnline: Bool) async throws {
        lock.withLock { state.onlineChanges.append(isOnline) }
        try await answer()
        if var user = lock.withLock({ state.users[me] }) {
            user.isOnline = isOnline
            set(user)
        }
    }

    func answer() async throws {
        let (delay, failure) = lock.withLock { (state.delay, state.failure) }
        if let delay { try await clock.sleep(for: delay) }
        if let failure { throw failure }
    }

    func stream<Value: Sendable, Element: Sendable>(
        of feed: Feed<Value>, _ transform: @escaping @Sendable (Value) -> Element
    ) -> AsyncStream<Element> {
        let (stream, elements) = AsyncStream.makeStream(of: Element.self)
        let task = Task {
            for await value in feed.updates { elements.yield(transform(value)) }
            elements.finish()
        }
        elements.onTermination = { _ in task.cancel() }
        return stream
    }
}
