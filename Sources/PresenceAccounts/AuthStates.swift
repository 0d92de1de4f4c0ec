import Foundation
import PresenceKit

// @unchecked: mutable state is only touched with the lock.
/// The current state, and the loops that observe it.
final class AuthStates: @unchecked Sendable {
    private let lock = NSLock()
    private var state = AuthState.restoring
    private var loops: [Int: AsyncStream<AuthState>.Continuation] = [:]
    private var followers: [FollowingClient] = []
    private var lastLoop = 0
    private var isClosed = false

    var current: AuthState { lock.withLock { state } }

    /// Sends the state to all loops, in the order of the calls.
    func publish(_ newer: AuthState) {
        lock.withLock {
            guard newer != state else { return }
            state = newer
            // Before the loops: no app that knows the state reads a former user's data from a client.
            notifyFollowers()
            // Yielding runs no code of the loops.
            for loop in loops.values { loop.yield(newer) }
        }
    }

    /// Lets a client follow the state. It is notified before any later call of the app.
    func add(_ follower: FollowingClient) {
        lock.withLock {
            followers.append(follower)
            notifyFollowers()
        }
    }

    /// Waits until the clients have deleted a former user's data.
    func formerUserIsForgotten() async {
        for client in lock.withLock({ followers.compactMap(\.client) }) { await client.userIsForgotten() }
    }

    /// Ends all loops.
    func close() {
        lock.withLock {
            isClosed = true
            for loop in loops.values { loop.finish() }
        }
    }

    /// With the lock held. Notifications are posted to the client's mailbox without waiting.
    private func notifyFollowers() {
        for index in followers.indices { followers[index].handle(state) }
        followers.removeAll { $0.client == nil }
    }

    /// The number of loops.
    var count: Int { lock.withLock { loops.count } }

    /// Begins a loop: the current state, then the newest after each change.
    fileprivate func stream() -> AsyncStream<AuthState> {
        let (stream, loop) = AsyncStream.makeStream(of: AuthState.self, bufferingPolicy: .bufferingNewest(1))
        let number = lock.withLock {
            lastLoop += 1
            loops[lastLoop] = loop
            loop.yield(state)
            if isClosed { loop.finish() }
            return lastLoop
        }
        loop.onTermination = { [weak self] _ in
            // In another task, because the lock may be held by the code that ends the loop.
            guard let self else { return }
            Task { self.end(number) }
        }
        return stream
    }

    private func end(_ number: Int) { lock.withLock { loops[number] = nil } }

    /// The states as a sequence; each iterator is its own loop and retains the account.
    struct Updates: AsyncSequence, Sendable {
        typealias Element = AuthState
        typealias Failure = Never
        let account: PresenceAccount
        let states: AuthStates

        func makeAsyncIterator() -> Iterator {
            Iterator(account: account, iterator: states.stream().makeAsyncIterator())
        }
    }

    struct Iterator: AsyncIteratorProtocol {
        typealias Failure = Never
        let account: PresenceAccount
        var iterator: AsyncStream<AuthState>.Iterator

        mutating func next() async -> AuthState? { await iterator.next() }
    }
}
