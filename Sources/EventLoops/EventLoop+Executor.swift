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

/// The loop as the executor that tasks prefer: all their steps run on the loop's thread.
///
/// Without the preference, each `await` passes through the global pool. This is not the loop itself, because a step that
/// runs as the actor's leaves the actor at each call of an async function, and every time another step is posted.
public final class LoopTaskExecutor: TaskExecutor {
    public let loop: EventLoop

    public init(_ loop: EventLoop) { self.loop = loop }

    public func enqueue(_ job: consuming ExecutorJob) {
        loop.post(.step(UnownedJob(job), self))
    }
}
