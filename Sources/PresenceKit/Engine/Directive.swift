import PresenceProtocol

/// The number of a connection attempt, by which input from earlier attempts is recognized and ignored.
typealias Attempt = Int

/// The number of a cache clearing.
typealias Clearing = Int

/// An action that the engine requests. The runner performs directives in order.
enum Directive: Sendable {
    /// Call the app's token provider and report `.token`. `new` is true if the previous token is no longer valid.
    case fetchToken(Attempt, new: Bool)
    /// Cancel the call of the token provider.
    case cancelFetch
    /// Dial, and report the transport's events.
    case dial(Attempt)
    case send([UInt8])
    /// Send a ping, which the server answers.
    case ping
    /// Say goodbye and end the connection; data that was already sent is still delivered.
    case close
    /// End the connection without a goodbye, so that the user lingers on the server.
    case abort
    /// Deliver the result to the waiting call.
    case answer(CallID, Result<Reply, PresenceError>)
    /// Read the cache and report `.cached`.
    case readCache([UserID])
    case writeCache([CachedPerson])
    /// Clear the cache, with `andWrites` also the queue of writes, and report `.cacheCleared`.
    case clearCache(Clearing, andWrites: Bool)
    /// Append a write to the queue and report `.stored`.
    case store(QueuedWrite)
    /// Remove writes from the queue and report `.removed`, with the error if that fails.
    case removeWrites([String])
    /// Pass an event of a type that the client does not know to the attached libraries, as raw bytes.
    case handOver(type: String, [UInt8])
    /// Report an event to the attached libraries.
    case tell(LibraryEvent)
    /// Set the owner of the storage; the writes of other users are removed.
    case storeOwner(String)
    /// Let these observers read again.
    case wake([ObserverID])
    case log(PresenceLogger.Level, String)
}
