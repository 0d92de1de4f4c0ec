import Foundation
import TestSupport

/// The longest time that a test waits for an event that must happen. Only a failure takes that long.
enum Patience {
    static let limit: Duration = .seconds(30)

    struct Exhausted: Error, CustomStringConvertible {
        let description: String
    }

    /// The result of `body`, unless it takes too long.
    static func wait<Value: Sendable>(
        for what: String, _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await withThrowingTaskGroup(of: Value.self) { group in
            group.addTask(operation: body)
            group.addTask {
                try await Task.sleep(for: limit)
                throw Exhausted(description: "not within \(limit): \(what)")
            }
            defer { group.cancelAll() }
            return try await group.next()!
        }
    }

    /// Waits for the end of a process, which is killed if it takes too long. Returns its status.
    static func end(of process: ChildProcess) async throws -> Int32 {
        let alarm = Task {
            try await Task.sleep(for: limit)
            process.signal(SIGKILL)
        }
        defer { alarm.cancel() }
        return await process.status()
    }

    /// Polls a condition without an event, such as the state of other processes.
    static func until(_ what: String, _ isSo: () async throws -> Bool) async throws {
        let deadline = ContinuousClock.now + limit
        while try await !isSo() {
            guard .now < deadline else { throw Exhausted(description: "not within \(limit): \(what)") }
            try await Task.sleep(for: .milliseconds(10))
        }
    }
}
