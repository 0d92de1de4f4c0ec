import EventLoops

/// Something that was handed to a pool and can be called off.
public protocol CancellableWork: AnyObject {
    /// If it has not begun, it is not run; otherwise its result is dropped. Its asker hears nothing of it any more.
    ///
    /// - Returns: Whether it had not begun.
    @discardableResult func cancel() -> Bool
}

/// A job of a pool, in the hands of who asked for it.
// @unchecked: `then` is touched on the loop's thread only (after that has ended, on the one that does its late work); the
// rest does not change once the job is handed to its asker.
public final class Job<Value: Sendable>: CancellableWork, @unchecked Sendable {
    private let queue: WorkQueue
    private let loop: EventLoop
    /// What it captures is the loop's: released there too, by `cancel` or after its call.
    private var then: ((Result<Value, WorkRefusal>) -> Void)?
    /// Set before anything but its asker has the job's number.
    var number: UInt64 = 0

    init(queue: WorkQueue, loop: EventLoop, then: @escaping (Result<Value, WorkRefusal>) -> Void) {
        self.queue = queue
        self.loop = loop
        self.then = then
    }

    /// On its loop.
    @discardableResult public func cancel() -> Bool {
        guard then != nil else { return false }
        then = nil
        return queue.cancel(number)
    }

    /// From any thread.
    func deliver(_ result: Result<Value, WorkRefusal>) {
        loop.execute { [self] in
            let then = then
            self.then = nil
            then?(result)
        }
    }
}
