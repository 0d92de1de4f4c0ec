import Foundation

// @unchecked: `inputs` is only touched with the lock.
/// Inputs posted from any thread, without waiting, which the runner takes in their order.
final class Mailbox: @unchecked Sendable {
    private let lock = NSLock()
    private var inputs: [Input] = []

    /// Posts an input; returns whether the mailbox was empty, so that the caller must wake the runner.
    func post(_ input: Input) -> Bool {
        lock.withLock {
            inputs.append(input)
            return inputs.count == 1
        }
    }

    func take() -> [Input] {
        lock.withLock {
            defer { inputs = [] }
            return inputs
        }
    }
}
