import Foundation
import Observation

/// Waits until a condition on observable values is true, or its task is cancelled. It evaluates the condition after
/// each change of the values that it read. It has no timeout: give the test a time limit.
@MainActor
public func until(_ condition: @escaping @MainActor () -> Bool) async {
    while !Task.isCancelled, !condition() {
        let once = Once()
        await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                once.wait(continuation)
                let isSo = withObservationTracking {
                    condition()
                } onChange: {
                    // Called before the change, so the condition is evaluated in a later step.
                    Task { @MainActor in once.resume() }
                }
                if isSo || Task.isCancelled { once.resume() }
            }
        } onCancel: {
            Task { @MainActor in once.resume() }
        }
    }
}

/// A continuation that is resumed by the first of several callers.
@MainActor
private final class Once {
    private var continuation: CheckedContinuation<Void, Never>?

    nonisolated init() {}

    func wait(_ continuation: CheckedContinuation<Void, Never>) { self.continuation = continuation }

    func resume() {
        continuation?.resume()
        continuation = nil
    }
}
