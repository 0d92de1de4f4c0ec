/// Returns when a condition holds that can only be asked for, every millisecond.
///
/// The test's thread is free meanwhile: all tests of a process share as many threads as the machine has cores, and what the test
/// waits for may be about to happen on one of them.
package func waitUntil(_ condition: () throws -> Bool) async throws {
    while try !condition() { try await Task.sleep(for: .milliseconds(1)) }
}
