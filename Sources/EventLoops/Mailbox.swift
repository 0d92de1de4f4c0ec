/// Work that other threads (and the loop itself) post to the loop, in the order of posting.
///
/// The doorbell (an `ev_async_send`, which may be a system call) rings once per burst: the first post rings it. Posts
/// from the loop's own thread do not ring, since the loop checks its mailbox before it sleeps.
struct Mailbox: ~Copyable {
    enum Work {
        case job(UnownedJob)
        case closure(@Sendable () -> Void)
    }

    /// The poster's duty: how the work gets run.
    enum Duty {
        case none
        case ring
        /// The loop's thread has ended: another one has to run it.
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

    /// Closes the mailbox if it is empty. Returns whether it is closed: the loop's thread then takes no more work.
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
