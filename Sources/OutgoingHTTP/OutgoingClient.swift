import CCurl
import EventLoops

/// Calls to other servers, and mails to theirs: libcurl, a thread for each of the two, a bounded number at a time.
///
/// It guarantees that
/// - at most `mostRunning` calls run and `mostQueued` wait, and as many mails; one more is refused at once, with the time after
///   which there may be room;
/// - each asker hears once: an answer, or a failure, within the request's time limit; of a cancelled one, nothing;
/// - TLS is verified, redirects are not followed, the environment's proxies are not used;
/// - nothing of a request or an answer is logged, or is in a failure.
///
/// Connections are kept and used again, those of HTTP/2 by many calls at a time; there are never more than may run.
///
/// libcurl waits for some answers of mail servers within its own calls. So a slow mail server holds up mails, for at most a
/// second beyond their time limit, and never calls.
public final class OutgoingClient: Sendable {
    private let calls: TransferLane
    private let mails: TransferLane

    /// - Parameters:
    ///   - name: of the threads; at most 15 bytes are shown.
    ///   - userAgent: the header `User-Agent` of calls.
    public init(
        name: String = "outgoing", mostRunning: Int = 64, mostQueued: Int = 1_000, userAgent: String? = nil
    ) {
        precondition(mostRunning > 0 && mostQueued >= 0)
        // Once for the process; libcurl counts the calls itself, and this one is safe from several threads since 7.84.
        curl_global_init(Int(CURL_GLOBAL_DEFAULT))
        calls = TransferLane(name, mostRunning: mostRunning, mostQueued: mostQueued, userAgent: userAgent)
        mails = TransferLane(name, mostRunning: mostRunning, mostQueued: mostQueued, userAgent: nil)
    }

    deinit { stop() }

    /// Where an order waits and runs.
    func queue(for order: TransferOrder) -> TransferQueue {
        switch order.kind {
        case .call: calls.queue
        case .mail: mails.queue
        }
    }

    /// Takes no more requests, lets those that are there go on for so long, breaks off the rest, whose askers hear
    /// ``OutgoingFailure/stopped``, and blocks until all that is done: a second longer at most. May be called again.
    ///
    /// - Parameter grace: in seconds.
    public func stop(within grace: Double = 0) {
        for lane in [calls, mails] { lane.queue.stop(within: grace) }
        for lane in [calls, mails] { lane.join() }
    }

    /// What it has done, and what it does: calls and mails together.
    public var numbers: OutgoingNumbers {
        var sum = calls.queue.numbers
        sum.add(mails.queue.numbers)
        return sum
    }
}

/// A queue and the thread that it is for.
private final class TransferLane: Sendable {
    let queue: TransferQueue
    private let thread: Locked<QuietThread?>

    init(_ name: String, mostRunning: Int, mostQueued: Int, userAgent: String?) {
        let queue = TransferQueue(mostRunning: mostRunning, mostQueued: mostQueued)
        self.queue = queue
        thread = Locked(QuietThread(name: name) { TransferThread(queue, userAgent: userAgent).run() })
    }

    /// Once it has been told to stop.
    func join() {
        thread.withLock { thread in
            thread?.join()
            thread = nil
        }
    }
}
