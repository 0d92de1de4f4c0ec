/// What other threads (and the loop itself) want done on the loop, in the order in which it was posted.
///
/// The doorbell (an `ev_async_send`, which may be a system call) is to be rung once a burst: by the post that finds it
/// silent. Posts from the loop's own thread need none, since the loop looks into its mailbox before it sleeps.
struct Mailbox: ~Copyable {
    enum Work {
        case job(UnownedJob)
        case closure(@Sendable () -> Void)
    }

    /// What the poster has to do for the work to be done.
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

    /// Adds `work`; says what has to be done for it.
    func post(_ work: Work, fromLoop: Bool) -> Duty {
        state.withLock { state in
            state.work.append(work)
            if fromLoop || state.hasRung { return .none }
            state.hasRung = true
            return state.isClosed ? .runElsewhere : .ring
        }
    }

    /// Tells that the loop's thread takes no more, unless there is something left to take; says whether it was so.
    func close() -> Bool {
        state.withLock { state in
            state.isClosed = state.work.isEmpty
            // A bell that nobody hears any more counts as not rung.
            state.hasRung = false
            return state.isClosed
        }
    }

    /// Exchanges everything posted for the empty `batch`, whose storage is reused for what comes next.
    func take(into batch: inout [Work]) {
        state.withLock { state in
            swap(&state.work, &batch)
            state.hasRung = false
        }
    }

    var isEmpty: Bool { state.withLock { $0.work.isEmpty } }
}
