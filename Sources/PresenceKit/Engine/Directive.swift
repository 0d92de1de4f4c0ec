import PresenceProtocol

/// Numbers the attempts to connect, so that what an earlier one still says is not taken for the present one's.
typealias Attempt = Int

/// Numbers the times that the cache is cleared.
typealias Clearing = Int

/// What the engine wants done; the runner does it, in order.
enum Directive: Sendable {
    /// Ask the app's token provider and hand in `.token`; whether the former one is of no use any more.
    case fetchToken(Attempt, new: Bool)
    /// Cancel asking it.
    case cancelFetch
    /// Dial, and hand in what the transport says.
    case dial(Attempt)
    case send([UInt8])
    /// Make the other side say something.
    case ping
    /// Say goodbye and end the connection; what was sent before still goes out.
    case close
    /// End the connection without a word, so that the user lingers on the server.
    case abort
    /// Hand the answer to the call that waits for it.
    case answer(CallID, Result<Reply, PresenceError>)
    /// Ask the cache and hand in `.cached`.
    case readCache([UserID])
    case writeCache([CachedPerson])
    /// Clear the cache, and with `andWrites` the queue of writes too, and hand in `.cacheCleared`.
    case clearCache(Clearing, andWrites: Bool)
    /// Put a write into the queue, and hand in `.stored` for the call that waits for that.
    case store(QueuedWrite, CallID?)
    /// Take writes out of the queue, and hand in `.removed`, with why if they cannot be.
    case removeWrites([String])
    /// Hand an event of a type that the client does not know to the libraries built on it, as it came.
    case handOver(type: String, [UInt8])
    /// Tell other libraries of something that concerns them.
    case tell(LibraryEvent)
    /// Note whose storage this is: the writes of others go.
    case storeOwner(String)
    /// Let these observers look again.
    case wake([ObserverID])
    case log(PresenceLogger.Level, String)
}
