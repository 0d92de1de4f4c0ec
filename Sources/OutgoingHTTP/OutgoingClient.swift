import CCurl
import EventLoops

/// Calls to other servers, and mails to theirs: one thread, libcurl, a bounded number at a time.
///
/// It guarantees that
/// - at most `mostRunning` transfers run and `mostQueued` wait; one more is refused at once, with the time after which there
///   may be room;
/// - each asker hears once: an answer, or a failure, within the request's time limit; of a cancelled one, nothing;
/// - TLS is verified, redirects are not followed, the environment's proxies are not used;
/// - nothing of a request or an answer is logged, or is in a failure.
///
/// Connections are kept and used again, those of HTTP/2 by many calls at a time.
public final class OutgoingClient: Sendable {
    let queue: TransferQueue
    private let thread: Locked<QuietThread?>

    /// - Parameters:
    ///   - name: of the thread; at most 15 bytes are shown.
    ///   - userAgent: the header `User-Agent` of calls.
    public init(
        name: String = "outgoing", mostRunning: Int = 64, mostQueued: Int = 1_000, userAgent: String? = nil
    ) {
        precondition(mostRunning > 0 && mostQueued >= 0)
        // Once for the process; libcurl counts the calls itself, and this one is safe from several threads since 7.84.
        curl_global_init(Int(CURL_GLOBAL_DEFAULT))
        let queue = TransferQueue(mostRunning: mostRunning, mostQueued: mostQueued)
        self.queue = queue
        thread = Locked(QuietThread(name: name) { TransferThread(queue, userAgent: userAgent).run() })
    }

    deinit { stop() }

    /// Takes no more requests, lets those that are there go on for so long, breaks off the rest, whose askers hear
    /// ``OutgoingFailure/stopped``, and blocks until all that is done. May be called again.
    ///
    /// - Parameter grace: in seconds.
    public func stop(within grace: Double = 0) {
        queue.stop(within: grace)
        thread.withLock { thread in
            thread?.join()
            thread = nil
        }
    }

    /// What it has done, and what it does.
    public var numbers: OutgoingNumbers { queue.numbers }
}
