import PresenceProtocol

/// When a receiver is not called: after failures alone, and when it asks for a pause.
struct ReceiverRest {
    /// No call begins before, by the shard's clock.
    var until: Milliseconds { max(resting, asked) }
    private var resting: Milliseconds = 0
    private var asked: Milliseconds = 0
    /// Rests one after the other.
    private var failures = 0
    /// When the last rest began, and when the receiver last took or refused an event.
    private var restedAt: Milliseconds = -1
    private var answeredAt: Milliseconds = -1
    /// Subjects of the failures since then, while calls are under way.
    private var failed: Set<String> = []
    private var longest: Milliseconds = 0

    mutating func isAnswered(at now: Milliseconds) {
        (answeredAt, failures, resting) = (now, 0, 0)
        isIdle()
    }

    /// - Parameters:
    ///   - began: When the call began. It counts for nothing if that was before the present rest, or if another call was answered
    ///     since.
    ///   - wait: The pause that the receiver asked for.
    ///   - isOfAll: Whether failures and pauses concern all events: of a push service they concern one device, unless several
    ///     devices fail and none gets anything. These may be of one user, so they wait for a minute at most.
    mutating func hasFailed(
        _ subject: String, since began: Milliseconds, asked wait: Milliseconds, isOfAll: Bool, at now: Milliseconds
    ) {
        failed.insert(subject)
        longest = max(longest, wait)
        if isOfAll, wait > 0 { asked = max(asked, now + wait) }
        guard answeredAt < began, isOfAll || failed.count > 1 else { return }
        if !isOfAll, longest > 0 { asked = max(asked, now + min(longest, 60_000)) }
        guard restedAt < began else { return }
        failures += 1
        restedAt = now
        resting = now + RetrySchedule.rest(after: failures)
    }

    /// A call could not be made.
    mutating func isStuck(at now: Milliseconds) { asked = max(asked, now + 1_000) }

    /// No call is under way.
    mutating func isIdle() { (failed, longest) = ([], 0) }
}
