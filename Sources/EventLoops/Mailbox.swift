/// What other threads (and the loop itself) want done on the loop, in the order in which it was posted.
///
/// The doorbell (an `ev_async_send`, which may be a system call) is to be rung once a burst: by the post that finds it
/// silent. Posts from the loop's own thread need none, since the loop looks into its mailbox before it sleeps.
struct Mailbox: ~Copyable {
    enum Work {
        case job(UnownedJob)
        case closure(@Sendable () -> Void)
    }

    struct State {
        var work: [Work] = []
        var hasRung = false
    }

    private let state = Locked(State())

    /// Adds `work`; says whether the doorbell has to be rung for it.
    func post(_ work: Work, fromLoop: Bool) -> Bool {
        state.withLock { state in
            state.work.append(work)
            if fromLoop || state.hasRung { return false }
            state.hasRung = true
            return true
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
