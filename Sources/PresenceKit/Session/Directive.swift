import Foundation
import PresenceProtocol

/// Numbers the attempts to connect, so that what an earlier one still says is not taken for the present one's.
typealias Attempt = Int

/// What a session wants done; whoever runs it does so in order.
enum Directive: Sendable {
    /// Ask the app's token provider and hand in `.token`.
    case fetchToken(Attempt)
    /// Dial, and hand in what the transport says.
    case open(Attempt)
    case send([UInt8])
    /// Make the other side say something.
    case ping
    /// Say goodbye and end the connection; what was sent before still goes out.
    case close
    /// End the connection without a word, so that the session lingers on the server.
    case abort
    /// Hand the answer to the call that waits for it.
    case answer(CallID, Result<Reply, PresenceError>)
    /// Ask the cache and hand in `.cached`.
    case readCache([UserID])
    case writeCache([CachedPerson])
    case clearCache
    /// Let these loops look again.
    case wake([LoopID])
}

/// What happens to a session.
enum Input: Sendable {
    case token(Attempt, Result<String, PresenceError>)
    case opened(Attempt)
    case received(Attempt, [UInt8])
    /// Something without content came: a ping or its answer.
    case alive(Attempt)
    case ended(Attempt, Ending)
    /// What the cache holds of those it was asked for.
    case cached([UserID], [CachedPerson])
    case call(CallID, Call)
    case cancel(CallID)
    /// The clock has reached ``Session/nextDeadline``.
    case tick
}
