/// The loop as an executor: a job is posted work like any other, and runs in its order.
///
/// A continuation resumes on the task's preferred executor and then changes to the actor's. A task that prefers the actor's
/// own loop stays on that loop's thread; without the preference each `await` passes through the global pool.
extension EventLoop {
    public func enqueue(_ job: consuming ExecutorJob) {
        post(.job(UnownedJob(job)))
    }

    public func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        UnownedSerialExecutor(ordinary: self)
    }

    public func checkIsolated() {
        precondition(isCurrent, "not on the thread of loop \(name)")
    }

    public func isIsolatingCurrentContext() -> Bool? {
        isCurrent
    }
}
