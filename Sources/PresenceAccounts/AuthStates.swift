import Foundation
import PresenceKit

// @unchecked: what changes is only touched with the lock.
/// The present state, and the loops that follow it.
final class AuthStates: @unchecked Sendable {
    private let lock = NSLock()
    private var state = AuthState.restoring
    private var loops: [Int: AsyncStream<AuthState>.Continuation] = [:]
    private var followers: [FollowingClient] = []
    private var lastLoop = 0

    var current: AuthState { lock.withLock { state } }

    /// Tells all loops, in the order in which it is called.
    func publish(_ newer: AuthState) {
        lock.withLock {
            guard newer != state else { return }
            state = newer
            // Yielding runs none of the loops' code.
            for loop in loops.values { loop.yield(newer) }
            tellFollowers()
        }
    }

    /// From now on a client follows the state. What it is told takes effect before any call of the app that is made after the
    /// change was published.
    func add(_ follower: FollowingClient) {
        lock.withLock {
            followers.append(follower)
            tellFollowers()
        }
    }

    /// With the lock. They post to the client's mailbox, and wait for nothing.
    private func tellFollowers() {
        for index in followers.indices { followers[index].handle(state) }
        followers.removeAll { $0.client == nil }
    }

    /// How many loops there are.
    var count: Int { lock.withLock { loops.count } }

    /// One loop: the present state, then the newest after each change.
    fileprivate func stream() -> AsyncStream<AuthState> {
        let (stream, loop) = AsyncStream.makeStream(of: AuthState.self, bufferingPolicy: .bufferingNewest(1))
        let number = lock.withLock {
            lastLoop += 1
            loops[lastLoop] = loop
            loop.yield(state)
            return lastLoop
        }
        loop.onTermination = { [weak self] _ in
            // On another task: the lock may be held by who ends the loop.
            guard let self else { return }
            Task { self.end(number) }
        }
        return stream
    }

    private func end(_ number: Int) { lock.withLock { loops[number] = nil } }

    /// As a sequence; each iterator is a loop of its own, and keeps the account alive.
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
