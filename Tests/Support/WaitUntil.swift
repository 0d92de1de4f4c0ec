/// Polls a condition every millisecond, and returns when it holds.
///
/// The test's thread stays free: all tests of a process share as many threads as the machine has cores, and the awaited
/// event may be about to happen on one of them.
/// waits for may be about to happen on one of them.
package func waitUntil(_ condition: () throws -> Bool) async throws {
    while try !condition() { try await Task.sleep(for: .milliseconds(1)) }
}
