import Foundation

/// Runs a blocking function on a thread of its own.
func onThread<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        let thread = Thread { continuation.resume(with: Swift.Result { try body() }) }
        // Histories nest callbacks deeply in debug builds.
        thread.stackSize = 8 << 20
        thread.start()
    }
}
