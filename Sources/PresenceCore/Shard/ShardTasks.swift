import EventLoops
import Redis

/// Async functions on the shard's own thread, for features' operations of several steps.
///
/// Each task prefers the shard's loop as its executor, so no `await` leaves the thread. As in all code of a shard, only
/// one thread uses the data. Between two steps anything else may happen on the shard. Every reply and every job's
/// result arrives exactly once, so every task ends.
package final class ShardTasks {
    private let executor: any TaskExecutor
    private let trace: RequestTrace?

    /// For features that watch descriptors of their own; `nil` in the simulator.
    package var loop: EventLoop? { (executor as? LoopTaskExecutor)?.loop }

    init(on executor: any TaskExecutor, _ trace: RequestTrace?) {
        self.executor = executor
        self.trace = trace
    }

    /// Begins `operation` in this turn of the loop, after the call. The operation acts for the current request.
    package func run(_ operation: @escaping () async -> Void) {
        let begun = Begun(operation: operation, request: trace?.current)
        Task(executorPreference: executor) { await begun.run() }
    }

    /// Waits for a value that `begin` passes on once: on the shard's thread, during the call or later.
    package func wait<Value>(for begin: (@escaping (Value) -> Void) -> Void) async -> Value {
        let value = await withUnsafeContinuation { (continuation: UnsafeContinuation<OnOneThread<Value>, Never>) in
            begin { continuation.resume(returning: OnOneThread(value: $0)) }
        }
        return value.value
    }

    /// Runs `operation` for each element, at most `window` at a time, and waits for all. After a failure no more begin.
    ///
    /// - Throws: The first failure.
    package func each<Element, Failure: Error>(
        _ elements: [Element], window: Int, _ operation: @escaping (Element) async throws(Failure) -> Void
    ) async throws(Failure) {
        var failure: Failure?
        await wait { done in
            BoundedConcurrency(elements, window: window) { [self] element, next in
                guard failure == nil else { return next() }
                run {
                    do throws(Failure) { try await operation(element) } catch { failure = failure ?? error }
                    next()
                }
            } done: {
                done(())
            }
        }
        if let failure { throw failure }
    }
}

// @unchecked: the executor of `ShardTasks` is the shard's thread.
private struct Begun: @unchecked Sendable {
    let operation: () async -> Void
    let request: String?

    func run() async {
        guard let request else { return await operation() }
        await RequestTrace.$ofTask.withValue(request) { await operation() }
    }
}

/// A value that stays on the shard's thread.
// @unchecked: as above.
private struct OnOneThread<Value>: @unchecked Sendable {
    let value: Value
}

/// Runs an operation for each element, at most `window` at a time: for bulk work that leaves room for other work.
package final class BoundedConcurrency<Element> {
    private var rest: ArraySlice<Element>
    private var underWay = 0
    private let each: (Element, @escaping () -> Void) -> Void
    private let done: () -> Void
    private var isIssuing = false

    /// `each` calls the closure that it gets when the element is done; `done` is called once, after the last element.
    @discardableResult
    package init(
        _ elements: [Element], window: Int, each: @escaping (Element, @escaping () -> Void) -> Void,
        done: @escaping () -> Void
    ) {
        rest = elements[...]
        self.each = each
        self.done = done
        self.window = window
        issue()
    }

    private let window: Int

    private func issue() {
        // Guarded, so that an element that is done at once does not recurse.
        guard !isIssuing else { return }
        isIssuing = true
        while underWay < window, let next = rest.popFirst() {
            underWay += 1
            each(next) {
                self.underWay -= 1
                self.issue()
            }
        }
        isIssuing = false
        if underWay == 0, rest.isEmpty { done() }
    }
}
