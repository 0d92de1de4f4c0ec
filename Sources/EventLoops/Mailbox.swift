/// Work that other threads (and the loop itself) post to the loop, in the order of posting.
///
/// The doorbell is an `ev_async_send`, which may be a system call. It rings once for a burst of posts, at the first one.
/// Posts from the loop's own thread do not ring it, because the loop checks its mailbox before it sleeps.
struct Mailbox: ~Copyable {
    enum Work {
        /// A step of an actor whose executor is the loop.
        case job(UnownedJob)
        /// A step of a task that prefers the loop.
        case step(UnownedJob, LoopTaskExecutor)
        case closure(@Sendable () -> Void)
    }

    /// The poster's duty after a post, so that the work is run.
    enum Duty {
        case none
        case ring
        /// The loop's thread has ended: the poster must have another thread run the work.
        case runElsewhere
    }

    struct State {
        var work: [Work] = []
        var hasRung = false
        var isClosed = false
    }

    private let state = Locked(State())

    /// Adds `work`. Returns the poster's duty.
    func post(_ work: Work, fromLoop: Bool) -> Duty {
        state.withLock { state in
            state.work.append(work)
            if fromLoop || state.hasRung { return .none }
            state.hasRung = true
            return state.isClosed ? .runElsewhere : .ring
        }
    }

    /// Closes the mailbox if it is empty. Returns whether it is closed. A closed one gives the loop's thread no more work.
    func close() -> Bool {
        state.withLock { state in
            state.isClosed = state.work.isEmpty
            // The bell of a closed loop counts as not rung, so the next post gets a duty.
            state.hasRung = false
            return state.isClosed
        }
    }

    /// Swaps the posted work with the empty `batch`, whose storage is reused for later posts.
    func take(into batch: inout [Work]) {
        state.withLock { state in
            swap(&state.work, &batch)
            state.hasRung = false
        }
    }

    var isEmpty: Bool { state.withLock { $0.work.isEmpty } }
}
