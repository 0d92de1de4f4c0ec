import Foundation
import PresenceKit

// @unchecked: `state` is only touched with the lock.
/// A value set by a test, and its sequence: each loop gets the newest value at once, then the newest after each change,
/// as from a client.
public final class Feed<Value: Sendable>: @unchecked Sendable {
    private struct State {
        var value: Value?
        var version = 0
        var isOver = false
        var loops = 0
        var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
        var lastWaiting = 0
    }

    private let lock = NSLock()
    private var state: State

    /// Creates a feed. Without a value, loops wait for the first one.
    public init(_ value: Value? = nil) {
        state = State(value: value, version: value == nil ? 0 : 1)
    }

    /// The newest value; `nil` before the first one.
    public var value: Value? { lock.withLock { state.value } }

    /// The number of active loops.
    public var loops: Int { lock.withLock { state.loops } }

    /// The sequence of values; each iteration is a loop.
    public var updates: PresenceUpdates<Value> { PresenceUpdates(Sequence(feed: self)) }

    public func send(_ value: Value) {
        change {
            $0.value = value
            $0.version += 1
        }
    }

    /// Ends all loops after their newest value.
    public func finish() {
        change { $0.isOver = true }
    }

    private func change(_ change: (inout State) -> Void) {
        let waiting = lock.withLock {
            change(&state)
            defer { state.waiting = [:] }
            return state.waiting.values
        }
        for continuation in waiting { continuation.resume() }
    }

    fileprivate func next(after seen: Int) async -> (value: Value, version: Int)? {
        while !Task.isCancelled {
            let (found, isOver) = lock.withLock {
                (state.version > seen ? state.value.map { ($0, state.version) } : nil, state.isOver)
            }
            if let found { return found }
            if isOver { return nil }
            await news(after: seen)
        }
        return nil
    }

    private func news(after seen: Int) async {
        let number = lock.withLock {
            state.lastWaiting += 1
            return state.lastWaiting
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isNews = lock.withLock {
                    if state.version > seen || state.isOver || Task.isCancelled { return true }
                    state.waiting[number] = continuation
                    return false
                }
                if isNews { continuation.resume() }
            }
        } onCancel: {
            lock.withLock { state.waiting.removeValue(forKey: number) }?.resume()
        }
    }

    fileprivate func count(_ difference: Int) { lock.withLock { state.loops += difference } }

    fileprivate struct Sequence: AsyncSequence, Sendable {
        typealias Element = Value
        typealias Failure = Never
        let feed: Feed

        func makeAsyncIterator() -> Iterator { Iterator(Loop(feed)) }
    }

    fileprivate struct Iterator: AsyncIteratorProtocol {
        typealias Failure = Never
        private let loop: Loop
        private var seen = 0

        init(_ loop: Loop) { self.loop = loop }

        mutating func next() async -> Value? {
            guard let (value, version) = await loop.feed.next(after: seen) else { return nil }
            seen = version
            return value
        }
    }

    /// Counts as an active loop for its lifetime.
    fileprivate final class Loop: Sendable {
        let feed: Feed
        init(_ feed: Feed) {
            self.feed = feed
            feed.count(1)
        }
        deinit { feed.count(-1) }
    }
}
