import Foundation
import Observation

/// Waits until something observable is as wanted, or its task is cancelled: looks at each change of what the condition
/// reads, never at a clock. A time limit belongs to the test.
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
                    // It is told before the change; the condition is looked at after it.
                    Task { @MainActor in once.resume() }
                }
                if isSo || Task.isCancelled { once.resume() }
            }
        } onCancel: {
            Task { @MainActor in once.resume() }
        }
    }
}

/// A continuation that is resumed by the first of several.
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
