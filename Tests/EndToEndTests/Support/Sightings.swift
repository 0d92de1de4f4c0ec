import PresenceKit

/// All that a sequence yields, in order, for a test to wait for. It watches from its making until it is released.
actor Sightings<Element: Sendable> {
    private(set) var all: [Element] = []
    private(set) var isOver = false
    /// How many of them `next` has passed over or returned.
    private var seen = 0
    private var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
    private var waiterCount = 0
    private var task: Task<Void, Never>?

    init<Sequence: AsyncSequence & Sendable>(_ sequence: Sequence)
    where Sequence.Element == Element, Sequence.Failure == Never {
        Task { await self.begin(sequence) }
    }

    private func begin<Sequence: AsyncSequence & Sendable>(_ sequence: Sequence)
    where Sequence.Element == Element, Sequence.Failure == Never {
        task = Task { [weak self] in
            for await element in sequence {
                guard let self else { return }
                await self.add(element)
            }
            await self?.end()
        }
    }

    deinit { task?.cancel() }

    /// The newest one, as soon as it matches.
    @discardableResult
    func until(_ what: String, _ isWanted: @Sendable (Element) -> Bool) async throws -> Element {
        try await wait(what) {
            guard let newest = all.last, isWanted(newest) else { return nil }
            seen = all.count
            return newest
        }
    }

    /// The first match after the last awaited one, already past or not.
    @discardableResult
    func next(_ what: String, _ isWanted: @Sendable (Element) -> Bool = { _ in true }) async throws -> Element {
        try await wait(what) {
            guard let index = all[seen...].firstIndex(where: isWanted) else { return nil }
            seen = index + 1
            return all[index]
        }
    }

    /// Waits until the sequence ends by itself.
    func untilOver() async throws {
        try await wait("the end of the sequence") { isOver ? () : nil }
    }

    /// Ends the loop.
    func stop() {
        task?.cancel()
    }

    private func wait<Value: Sendable>(_ what: String, _ look: () -> Value?) async throws -> Value {
        let deadline = ContinuousClock.now + Patience.limit
        while true {
            if let value = look() { return value }
            guard .now < deadline else {
                throw Patience.Exhausted(
                    description: "not within \(Patience.limit): \(what). The newest of \(all.count): \(all.suffix(3))")
            }
            await news(before: deadline)
        }
    }

    /// Returns at the next element, or when patience is at its end.
    private func news(before deadline: ContinuousClock.Instant) async {
        waiterCount += 1
        let waiter = waiterCount
        let alarm = Task {
            try await Task.sleep(until: deadline)
            self.wake(waiter)
        }
        await withCheckedContinuation { waiters[waiter] = $0 }
        alarm.cancel()
    }

    private func wake(_ waiter: Int) {
        waiters.removeValue(forKey: waiter)?.resume()
    }

    private func add(_ element: Element) {
        all.append(element)
        for waiter in waiters.keys { wake(waiter) }
    }

    private func end() {
        isOver = true
        for waiter in waiters.keys { wake(waiter) }
    }
}
