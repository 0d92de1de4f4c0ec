import PresenceProtocol

/// What happens to an engine.
///
/// What happens at one time is one turn: any number of inputs, then ``turnEnded``.
enum Input: Sendable {
    // MARK: The app

    case connect
    /// Something is used that needs a connection: connect, but not after a closing.
    case use
    /// The user signed in to their account: a closed client opens again, a token is fetched anew.
    case signedIn
    /// The network changed: replace the connection without waiting.
    case reconnect
    /// Whether there is a network, as the system sees it.
    case network(Bool)
    case background
    case foreground
    case activity(Wire.Activity)
    /// The user began to type, or stopped.
    case typing(ConversationID, Bool)
    /// A request; it is answered.
    case call(CallID, Call)
    /// Answered when the server has said goodbye too, or a little later.
    case disconnect(CallID)
    /// Answered when the server has said goodbye, or a little later, and the cache is cleared.
    case signOut(CallID)
    /// From now on the token provider is another user's. Answered when the cache is cleared.
    case switchUser(CallID)
    /// Answered when it is done.
    case clearCache(CallID)
    /// The task of a call was cancelled.
    case cancel(CallID)
    /// One of the app's loops begins.
    case observe(ObserverID, Topic)
    /// It is over, or its task was cancelled.
    case unobserve(ObserverID)
    /// The client has no references left.
    case abandon

    // MARK: The token provider, the transport, the storage

    case token(Attempt, Result<String, PresenceError>)
    case opened(Attempt)
    case received(Attempt, [UInt8])
    /// Something without content came: a ping or its answer.
    case alive(Attempt)
    case ended(Attempt, Ending)
    /// What the cache holds of the users it was asked for.
    case cached([CachedPerson])
    case cacheCleared(Clearing)
    /// What an earlier process left in the storage: whose it is, and the writes.
    case recalled(UserID?, [QueuedWrite])
    /// A write is in the queue, or cannot be.
    case stored(String, CallID?, PresenceError?)
    /// Writes are out of the queue, or cannot be taken out.
    case removed([String], PresenceError?)

    // MARK: Time

    /// The clock has reached ``Engine/nextDeadline``.
    case tick
    /// Everything that had arrived was handed in.
    case turnEnded
}
