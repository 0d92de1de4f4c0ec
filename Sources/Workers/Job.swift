import EventLoops

/// Work that was submitted to a pool and can be cancelled.
public protocol CancellableWork: AnyObject {
    /// Prevents the work if it has not begun; otherwise drops its result. The submitter gets no result.
    ///
    /// - Returns: Whether the work had not begun.
    @discardableResult func cancel() -> Bool
}

/// A submitted job, as its submitter sees it.
// @unchecked: `then` is used on the loop's thread only (after the loop has ended, on the thread that does its late
// work). The rest does not change once the submitter has the job.
public final class Job<Value: Sendable>: CancellableWork, @unchecked Sendable {
    private let queue: WorkQueue
    private let loop: EventLoop
    /// The captures of `then` belong to the loop, and are released on it, by `cancel` or after the call.
    private var then: ((Result<Value, WorkRefusal>) -> Void)?
    /// Set before any other thread can see the job's number.
    var number: UInt64 = 0

    init(queue: WorkQueue, loop: EventLoop, then: @escaping (Result<Value, WorkRefusal>) -> Void) {
        self.queue = queue
        self.loop = loop
        self.then = then
    }

    /// Call it on the job's loop.
    @discardableResult public func cancel() -> Bool {
        guard then != nil else { return false }
        then = nil
        return queue.cancel(number)
    }

    /// Call it from any thread.
    func deliver(_ result: Result<Value, WorkRefusal>) {
        loop.execute { [self] in
            let then = then
            self.then = nil
            then?(result)
        }
    }
}
