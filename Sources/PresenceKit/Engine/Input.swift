import PresenceProtocol

/// An input of the engine.
///
/// All inputs of one moment form a turn: any number of inputs, then ``turnEnded``.
enum Input: Sendable {
    // MARK: The app

    case connect
    /// An operation needs a connection: connect, unless the client is closed.
    case use
    /// This user signed in to their account: a closed client opens again, a new token is fetched, and another user's data
    /// is dropped.
    case signedIn(UserID?)
    /// The network changed: replace the connection at once.
    case reconnect
    /// Whether there is a network, according to the system.
    case network(Bool)
    case background
    case foreground
    case activity(Wire.Activity)
    /// The user started or stopped typing.
    case typing(ConversationID, Bool)
    /// A call, which ends with a result.
    case call(CallID, Call)
    /// Ends when the server has closed the connection too, or a little later.
    case disconnect(CallID)
    /// Ends when the server has closed the connection, or a little later, and the cache is cleared.
    case signOut(CallID)
    /// From now on the token provider is another user's. Ends when the cache is cleared.
    case switchUser(CallID)
    /// Ends when the cache is cleared.
    case clearCache(CallID)
    /// The task of a call was cancelled.
    case cancel(CallID)
    /// A loop of the app begins.
    case observe(ObserverID, Topic)
    /// The loop has ended, or its task was cancelled.
    case unobserve(ObserverID)
    /// The app closes the client for good. Ends as `disconnect`.
    case close(CallID)
    /// The last reference to the client was released.
    case abandon

    // MARK: The token provider, the transport, the storage

    case token(Attempt, Result<String, PresenceError>)
    case opened(Attempt)
    case received(Attempt, [UInt8])
    /// A message without content arrived: a ping or a pong.
    case alive(Attempt)
    case ended(Attempt, Ending)
    /// The cached values of the requested users.
    case cached([CachedPerson])
    case cacheCleared(Clearing)
    /// The owner and the writes that an earlier process left in the storage.
    case recalled(UserID?, [QueuedWrite])
    /// A write is in the queue, or could not be stored.
    case stored(String, PresenceError?)
    /// Writes were removed from the queue, or could not be removed.
    case removed([String], PresenceError?)

    // MARK: Time

    /// The clock has reached ``Engine/nextDeadline``.
    case tick
    /// All inputs of this moment were handled.
    case turnEnded
}
