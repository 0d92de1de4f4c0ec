/// The loop as an actor's executor: a job is posted work like any other, and runs in its order.
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
