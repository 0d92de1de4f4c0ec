import Foundation
import TestSupport

/// How long a test waits for something that must happen. Not a time that anything should take: only what has gone wrong
/// takes that long.
enum Patience {
    static let limit: Duration = .seconds(30)

    struct Exhausted: Error, CustomStringConvertible {
        let description: String
    }

    /// What `body` returns, unless it does not return in time.
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

    /// Waits for the end of a process, which is killed if it does not come in time; its status.
    static func end(of process: ChildProcess) async throws -> Int32 {
        let alarm = Task {
            try await Task.sleep(for: limit)
            process.signal(SIGKILL)
        }
        defer { alarm.cancel() }
        return await process.status()
    }

    /// Looks again and again, for what no event tells of: what other processes do.
    static func until(_ what: String, _ isSo: () async throws -> Bool) async throws {
        let deadline = ContinuousClock.now + limit
        while try await !isSo() {
            guard .now < deadline else { throw Exhausted(description: "not within \(limit): \(what)") }
            try await Task.sleep(for: .milliseconds(10))
        }
    }
}
