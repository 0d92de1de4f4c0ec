import Foundation

// @unchecked: mutable state is only touched with the lock.
/// The tasks of an object that the app can close. Closing cancels them and waits for their end.
package final class ClosableTasks: @unchecked Sendable {
    private struct Entry {
        let cancel: @Sendable () -> Void
        let end: @Sendable () async -> Void
    }

    private let lock = NSLock()
    private var running: [UInt64: Entry] = [:]
    private var last: UInt64 = 0
    private var isOver = false

    package init() {}

    /// Whether it was closed.
    package var isClosed: Bool { lock.withLock { isOver } }

    /// Starts a task; does nothing once closed.
    package func start(_ body: @escaping @Sendable () async -> Void) {
        lock.withLock {
            guard !isOver else { return }
            last += 1
            let number = last
            let task = Task {
                await body()
                self.remove(number)
            }
            running[number] = Entry(cancel: { task.cancel() }, end: { await task.value })
        }
    }

    /// Runs a body in a task, which is cancelled with the caller's.
    ///
    /// - Returns: `nil` once closed, also if the body had begun.
    package func run<Value: Sendable>(
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value? {
        let begun = lock.withLock { () -> (number: UInt64, task: Task<Value, any Error>)? in
            guard !isOver else { return nil }
            last += 1
            let task = Task { try await body() }
            running[last] = Entry(cancel: { task.cancel() }, end: { _ = await task.result })
            return (last, task)
        }
        guard let (number, task) = begun else { return nil }
        defer { remove(number) }
        do {
            return try await task.resultForCaller.get()
        } catch is CancellationError where isClosed && !Task.isCancelled {
            return nil
        }
    }

    private func remove(_ number: UInt64) { lock.withLock { running[number] = nil } }

    /// Cancels all tasks, and starts no more.
    package func cancel() {
        let ending = lock.withLock {
            isOver = true
            return Array(running.values)
        }
        for task in ending { task.cancel() }
    }

    /// Cancels all tasks, and returns when none runs any more.
    package func close() async {
        cancel()
        for task in lock.withLock({ Array(running.values) }) { await task.end() }
    }
}

/// A transport whose requests end when the app closes their owner.
package struct ClosableTransport: HTTPTransport {
    private let base: any HTTPTransport
    private let tasks: ClosableTasks

    package init(_ base: any HTTPTransport, _ tasks: ClosableTasks) {
        (self.base, self.tasks) = (base, tasks)
    }

    package func send(
        _ request: HTTPRequest, progress: (@Sendable (_ sentBytes: Int) -> Void)?
    ) async throws -> HTTPResponse {
        let wasClosed = tasks.isClosed
        if let response = try await tasks.run({ [base] in try await base.send(request, progress: progress) }) {
            return response
        }
        throw HTTPFailure("the app closed the client", wasSent: !wasClosed)
    }
}
