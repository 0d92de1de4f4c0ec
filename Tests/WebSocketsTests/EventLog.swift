import EventLoops

/// The events so far, in order; tests wait for expected events instead of for a time.
final class EventLog<Event: Sendable>: Sendable {
    private struct Waiter {
        let matches: @Sendable (Event) -> Bool
        let continuation: CheckedContinuation<Event, Never>
    }

    private struct State {
        var events: [Event] = []
        var waiters: [Waiter] = []
    }

    private let state = Locked(State())

    func append(_ event: Event) {
        let served = state.withLock { state -> [Waiter] in
            state.events.append(event)
            // Each predicate is called once per event: the counting ones have a state.
            var served: [Waiter] = []
            var waiting: [Waiter] = []
            for waiter in state.waiters {
                if waiter.matches(event) { served.append(waiter) } else { waiting.append(waiter) }
            }
            state.waiters = waiting
            return served
        }
        for waiter in served { waiter.continuation.resume(returning: event) }
    }

    var all: [Event] { state.withLock { $0.events } }

    /// The first event that matches, past or future.
    @discardableResult
    func first(where matches: @escaping @Sendable (Event) -> Bool) async -> Event {
        await withCheckedContinuation { continuation in
            let found = state.withLock { state -> Event? in
                if let found = state.events.first(where: matches) { return found }
                state.waiters.append(Waiter(matches: matches, continuation: continuation))
                return nil
            }
            if let found { continuation.resume(returning: found) }
        }
    }

    /// Waits until `count` matching events have occurred.
    func count(_ count: Int, where matches: @escaping @Sendable (Event) -> Bool) async {
        let seen = Locked(0)
        guard count > 0 else { return }
        _ = await withCheckedContinuation { (continuation: CheckedContinuation<Event, Never>) in
            let done = state.withLock { state -> Event? in
                let past = state.events.filter(matches)
                if past.count >= count { return past[count - 1] }
                seen.withLock { $0 = past.count }
                state.waiters.append(
                    Waiter(
                        matches: { event in
                            guard matches(event) else { return false }
                            return seen.withLock {
                                $0 += 1; return $0 == count
                            }
                        }, continuation: continuation))
                return nil
            }
            if let done { continuation.resume(returning: done) }
        }
    }
}
