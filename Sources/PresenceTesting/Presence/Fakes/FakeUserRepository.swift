import Foundation
import PresenceKit

// @unchecked: `state` is only touched with the lock.
/// Users in memory, and a record of the calls.
///
/// It follows a client's rules: values that the server never accepts are rejected, changes made offline are queued
/// until there is a connection, and values shown offline are stale.
public final class FakeUserRepository: UserRepository, @unchecked Sendable {
    struct State {
        var users: [String: User] = [:]
        var feeds: [String: Feed<UserState>] = [:]
        var failure: (any Error)?
        var isOffline = false
        var updates: [ProfileChanges] = []
        /// The changes queued offline.
        var waiting: ProfileChanges?
        var waitingOnline: Bool?
        var onlineChanges: [Bool] = []
        var takenUsernames: Set<String> = []
        var usernameChecks: [String] = []
        var delay: Duration?
        var uploads: [Data] = []
        var setupsCompleted = 0
    }

    let lock = NSLock()
    var state = State()
    private let refusals = Feed<PresenceError>()
    private let pending = Feed(false)
    let me: String
    /// The clock of ``delay``.
    public let clock: TestClock

    /// - Parameters:
    ///   - users: the existing users.
    ///   - me: the signed-in user, whom ``update(_:)`` changes.
    ///   - clock: the clock of ``delay``.
    public init(_ users: [User] = [], me: String = "me", clock: TestClock = TestClock()) {
        self.me = me
        self.clock = clock
        for user in users { state.users[user.id] = user }
    }

    // MARK: Values for the test

    /// All attempted changes, in order.
    public var updates: [ProfileChanges] { lock.withLock { state.updates } }
    /// The values passed to ``setOnline(_:)``.
    public var onlineChanges: [Bool] { lock.withLock { state.onlineChanges } }
    /// The usernames that were checked.
    public var usernameChecks: [String] { lock.withLock { state.usernameChecks } }

    /// The pictures of all attempted uploads.
    public var uploads: [Data] { lock.withLock { state.uploads } }
    /// How often the first form was marked as completed.
    public var setupsCompleted: Int { lock.withLock { state.setupsCompleted } }

    // MARK: The script

    /// While it is not `nil`, every call fails with it.
    public var failure: (any Error)? {
        get { lock.withLock { state.failure } }
        set { lock.withLock { state.failure = newValue } }
    }

    /// While `true`, changes are queued and values are stale; username, picture and setup calls fail. Setting it to
    /// `false` makes the queued changes.
    public var isOffline: Bool {
        get { lock.withLock { state.isOffline } }
        set {
            let (changes, isOnline) = lock.withLock {
                state.isOffline = newValue
                guard !newValue else { return (nil, nil) as (ProfileChanges?, Bool?) }
                defer { (state.waiting, state.waitingOnline) = (nil, nil) }
                return (state.waiting, state.waitingOnline)
            }
            if let changes { make(changes) }
            if let isOnline { makeOnline(isOnline) }
            let feeds = lock.withLock { state.feeds.compactMap { id, feed in shown(id).map { (feed, $0) } } }
            for (feed, shown) in feeds { feed.send(shown) }
            if changes != nil { pending.send(false) }
        }
    }

    /// Reserved names; those of the other users are taken, too.
    public var takenUsernames: Set<String> {
        get { lock.withLock { state.takenUsernames } }
        set { lock.withLock { state.takenUsernames = newValue } }
    }

    /// The duration of calls, by ``clock``; `nil`: none.
    public var delay: Duration? {
        get { lock.withLock { state.delay } }
        set { lock.withLock { state.delay = newValue } }
    }

    /// Sets a user and notifies the loops.
    public func set(_ user: User) {
        let (feed, isOffline) = lock.withLock {
            state.users[user.id] = user
            return (state.feeds[user.id], state.isOffline)
        }
        feed?.send(UserState(user: user, isStale: isOffline))
    }

    /// Rejects a queued change: the member that the error names, or all of it.
    public func refuse(_ error: PresenceError) {
        let isOver = lock.withLock {
            guard var waiting = state.waiting else { return false }
            switch (error.code, error.field) {
            case (.validationFailed, "displayName"): waiting.displayName = .keep
            case (.validationFailed, "photoURL"): waiting.photoURL = .keep
            case (.validationFailed, "timezone"): waiting.timezone = .keep
            case (.validationFailed, "locale"): waiting.locale = .keep
            default: waiting = ProfileChanges()
            }
            state.waiting = waiting == ProfileChanges() ? nil : waiting
            return state.waiting == nil
        }
        refusals.send(error)
        if isOver { pending.send(false) }
    }

    /// Signs the user out: all loops end for good.
    public func signOut() {
        let feeds = lock.withLock {
            defer { (state.feeds, state.waiting, state.waitingOnline) = ([:], nil, nil) }
            return state.feeds.values
        }
        for feed in feeds { feed.finish() }
        refusals.finish()
        pending.finish()
    }

    // MARK: UserRepository

    public var updateRefusals: AsyncStream<PresenceError> { stream(of: refusals) { $0 } }
    public var pendingUpdates: AsyncStream<Bool> { stream(of: pending) { $0 } }

    public func user(_ id: User.ID) async throws -> User {
        try await waitOrFail()
        let (user, isOffline) = lock.withLock { (state.users[id], state.isOffline) }
        if let user { return user }
        throw isOffline ? PresenceError.fetchFailed(reason: Self.noConnection) : PresenceError.userNotFound(id)
    }

    public func users(_ ids: [User.ID]) async throws -> Users {
        try await waitOrFail()
        let (users, isOffline) = lock.withLock { (state.users, state.isOffline) }
        var seen: Set<String> = []
        let ids = ids.filter { seen.insert($0).inserted }
        return Users(ids.compactMap { users[$0] }, missing: ids.filter { users[$0] == nil }, isStale: isOffline)
    }

    public func userUpdates(of id: User.ID) -> AsyncStream<User> { stream(of: feed(of: id)) { $0.user } }
    public func userStates(of id: User.ID) -> AsyncStream<UserState> { stream(of: feed(of: id)) { $0 } }

    @discardableResult
    public func update(_ changes: ProfileChanges) async throws -> ProfileUpdate<User> {
        lock.withLock { state.updates.append(changes) }
        try Self.check(changes)
        try await waitOrFail()
        let isQueued = lock.withLock {
            guard state.isOffline else { return false }
            state.waiting = (state.waiting ?? ProfileChanges()).merged(with: changes)
            return true
        }
        if isQueued {
            pending.send(true)
            return .queued
        }
        return .saved(make(changes))
    }

    public func onlineUpdates(of id: User.ID) -> AsyncStream<Bool> {
        let feed = feed(of: id)
        return AsyncStream { elements in
            var last: Bool?
            for await state in feed.updates where state.user.isOnline != last {
                last = state.user.isOnline
                elements.yield(state.user.isOnline)
            }
        }
    }

    public func setOnline(_ isOnline: Bool) async throws {
        lock.withLock { state.onlineChanges.append(isOnline) }
        try await waitOrFail()
        let isQueued = lock.withLock {
            if state.isOffline { state.waitingOnline = isOnline }
            return state.isOffline
        }
        if !isQueued { makeOnline(isOnline) }
    }
}
