import CCurl
import EventLoops

/// Sends HTTP requests and mails to other servers, with libcurl: one thread for requests, one for mails, and a limit on
/// each.
///
/// It guarantees that
/// - at most `mostRunning` requests run and at most `mostQueued` wait, and the same limits apply to mails; any further
///   request or mail is rejected at once, with the time after which there may be room;
/// - each sender gets one response or failure within the request's time limit; a cancelled request delivers nothing;
/// - TLS is verified, redirects are not followed, the environment's proxies are not used;
/// - neither logs nor failures contain any part of a request or response.
///
/// Connections are reused; an HTTP/2 connection carries many requests at a time. There are never more connections than
/// `mostRunning`.
///
/// For some replies of mail servers, libcurl waits inside its own functions. So a slow mail server may delay other
/// mails, by at most a second beyond their time limit. It never delays requests.
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
        // Needed once for the process. libcurl counts the calls itself. From version 7.84 on, any thread may make it.
        curl_global_init(Int(CURL_GLOBAL_DEFAULT))
        calls = TransferLane(name, mostRunning: mostRunning, mostQueued: mostQueued, userAgent: userAgent)
        mails = TransferLane(name, mostRunning: mostRunning, mostQueued: mostQueued, userAgent: nil)
    }

    deinit { stop() }

    /// The queue in which an order waits and runs.
    func queue(for order: TransferOrder) -> TransferQueue {
        switch order.kind {
        case .call: calls.queue
        case .mail: mails.queue
        }
    }

    /// Rejects new requests, lets the running ones continue for `grace` seconds, then aborts those that still run. Their
    /// senders get ``OutgoingFailure/stopped``. The call returns when all have ended, at most a second after `grace`. It
    /// may be repeated.
    ///
    /// - Parameter grace: in seconds.
    public func stop(within grace: Double = 0) {
        for lane in [calls, mails] { lane.queue.stop(within: grace) }
        for lane in [calls, mails] { lane.join() }
    }

    /// The numbers of past and present transfers: requests and mails together.
    public var numbers: OutgoingNumbers {
        var sum = calls.queue.numbers
        sum.add(mails.queue.numbers)
        return sum
    }
}

/// A queue and its thread.
private final class TransferLane: Sendable {
    let queue: TransferQueue
    private let thread: Locked<QuietThread?>

    init(_ name: String, mostRunning: Int, mostQueued: Int, userAgent: String?) {
        let queue = TransferQueue(mostRunning: mostRunning, mostQueued: mostQueued)
        self.queue = queue
        thread = Locked(QuietThread(name: name) { TransferThread(queue, userAgent: userAgent).run() })
    }

    /// Waits for the thread, after it was asked to stop.
    func join() {
        thread.withLock { thread in
            thread?.join()
            thread = nil
        }
    }
}
