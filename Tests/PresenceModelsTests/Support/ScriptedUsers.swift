import Foundation
import PresenceKit

@testable import PresenceTesting

/// Users of which a test sets each value, error and event, also in an order in which no client yields them.
///
/// Offline, changes are queued until ``isOffline`` is `false`.
final class ScriptedUsers: UserRepository, ProfileRepository {
    struct State: Sendable {
        var users: [String: User] = [:]
        /// While it is not `nil`, every call fails with it.
        var failure: PresenceError?
        var isOffline = false
        /// The duration of calls, by the clock.
        var delay: Duration?
        /// All attempted changes, in order.
        var updates: [ProfileChanges] = []
        var waiting: ProfileChanges?
        var takenUsernames: Set<String> = []
        var usernameChecks: [String] = []
    }

    private static let me = "me"
    let clock = TestClock()
    private let state = Guarded(State())
    private let changes = Newest<User>()
    private let refusals = Newest<PresenceError>()
    private let pending = Newest(false)

    init(_ users: [User] = []) {
        for user in users { set(user) }
    }

    var updates: [ProfileChanges] { state.withLock { $0.updates } }
    var usernameChecks: [String] { state.withLock { $0.usernameChecks } }
    var failure: PresenceError? {
        get { state.withLock { $0.failure } }
        set { state.withLock { $0.failure = newValue } }
    }
    var delay: Duration? {
        get { state.withLock { $0.delay } }
        set { state.withLock { $0.delay = newValue } }
    }
    var takenUsernames: Set<String> {
        get { state.withLock { $0.takenUsernames } }
        set { state.withLock { $0.takenUsernames = newValue } }
    }
    var isOffline: Bool {
        get { state.withLock { $0.isOffline } }
        set {
            let waiting = state.withLock { state in
                state.isOffline = newValue
                guard !newValue else { return nil as ProfileChanges? }
                defer { state.waiting = nil }
                return state.waiting
            }
            if let waiting {
                make(waiting)
                pending.send(false)
            }
        }
    }

    func set(_ user: User) {
        state.withLock { $0.users[user.id] = user }
        changes.send(user)
    }

    /// Rejects the member of a queued change that the error names.
    func refuse(_ error: PresenceError) {
        let isOver = state.withLock { state in
            if error.field == "displayName" { state.waiting?.displayName = .keep }
            if state.waiting == ProfileChanges() { state.waiting = nil }
            return state.waiting == nil
        }
        refusals.send(error)
        if isOver { pending.send(false) }
    }

    private func waitOrFail() async throws {
        if let delay { try await clock.sleep(for: delay) }
        try Task.checkCancellation()
        if let failure { throw failure }
    }

    @discardableResult
    private func make(_ changes: ProfileChanges) -> User {
        var user = state.withLock { $0.users[Self.me] } ?? User(id: Self.me, displayName: "")
        if let name = changes.displayName.value { user.displayName = User.DisplayNameRule.trimmed(name) }
        if changes.photoURL != .keep { user.profileImageURL = changes.photoURL.value }
        set(user)
        return user
    }

    // MARK: UserRepository

    var updateRefusals: AsyncStream<PresenceError> { refusals.stream() }
    var pendingUpdates: AsyncStream<Bool> { pending.stream() }
    func userUpdates(of id: User.ID) -> AsyncStream<User> { changes.stream() }
    func onlineUpdates(of id: User.ID) -> AsyncStream<Bool> { AsyncStream { $0.finish() } }
    func setOnline(_ isOnline: Bool) async throws {}
    func users(_ ids: [User.ID]) async throws -> Users { Users([], missing: ids) }

    func user(_ id: User.ID) async throws -> User {
        try await waitOrFail()
        guard let user = state.withLock({ $0.users[id] }) else { throw PresenceError.userNotFound(id) }
        return user
    }

    @discardableResult
    func update(_ changes: ProfileChanges) async throws -> ProfileUpdate<User> {
        state.withLock { $0.updates.append(changes) }
        try await waitOrFail()
        guard isOffline else { return .saved(make(changes)) }
        state.withLock { $0.waiting = changes }
        pending.send(true)
        return .queued
    }

    // MARK: ProfileRepository

    var ownUsernames: AsyncStream<String?> {
        let users = changes.stream()
        return AsyncStream { names in
            let task = Task {
                for await user in users { names.yield(user.username) }
            }
            names.onTermination = { _ in task.cancel() }
        }
    }

    func isAvailable(_ username: String) async throws -> Bool {
        state.withLock { $0.usernameChecks.append(username) }
        try await waitOrFail()
        return !takenUsernames.contains(username.lowercased())
    }

    func take(_ username: String) async throws {
        try await waitOrFail()
        guard var user = state.withLock({ $0.users[Self.me] }) else { return }
        user.username = username
        set(user)
    }

    func release() async throws {}
    func uploadPhoto(_ picture: Data) -> AsyncThrowingStream<Upload<Photo>, any Error> {
        AsyncThrowingStream { $0.finish() }
    }
    func removePhoto() async throws {}
    func completeSetup() async throws {}
}

/// A value for streams: each yields the present one at once, then the newest after each change.
final class Newest<Value: Sendable>: Sendable {
    private let state: Guarded<(value: Value?, streams: [AsyncStream<Value>.Continuation])>

    init(_ value: Value? = nil) { state = Guarded((value, [])) }

    func send(_ value: Value) {
        let streams = state.withLock { state in
            state.value = value
            return state.streams
        }
        for stream in streams { stream.yield(value) }
    }

    func stream() -> AsyncStream<Value> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { stream in
            let value = state.withLock { state in
                state.streams.append(stream)
                return state.value
            }
            if let value { stream.yield(value) }
        }
    }
}
