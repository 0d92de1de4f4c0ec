import PresenceProtocol
import WebSockets

/// One socket: its session, and what is pending for it besides events. Its `Line` has its subscriptions and pending events.
///
/// Its memory is bounded: replies by the number of pending requests, everything else by one mark for each watched register.
package final class Connection {
    package let socket: SocketID
    /// From the upgrade request's `Authorization: Bearer`.
    let headerToken: String?
    /// The client's address, for counting failed tokens.
    package let address: AddressBlock
    /// Shifted by the time for which the loop stood still.
    package internal(set) var began: Milliseconds

    package var session: Session?
    /// Its token is being verified, off the loop.
    var isVerifying = false
    /// When its token expires, by Redis' clock.
    var tokenExpiresAt: Timestamp?
    /// The expiry of which the client was notified: once for each lifetime of a token, also if a client sends the same
    /// one again.
    var noticedExpiry: Timestamp?
    /// `connected` was sent.
    package var isGreeted = false

    /// When anything was last received. Deadlines read it, so that a message costs one store.
    var lastHeard: Milliseconds
    var nextPing: Milliseconds
    /// When its deadline is next checked; an earlier deadline is outdated.
    var nextLook: Milliseconds = 0
    var badRequests = 0
    /// The number of rejected refreshes.
    var failedRefreshes = 0
    /// `disconnect` requests that wait for their turn.
    package var leaving = 0
    /// Limits its request rate.
    var bucket = TokenBucket()
    var refusals = RateRefusals()
    /// The server has closed it, or it was lost; nothing more is read from it or written to it.
    package var isClosed = false
    /// The code with which the server closed it.
    var closedWith: CloseCode?

    /// Messages received before its session was admitted, in order (`HeldMessages.swift`).
    var held: [[UInt8]] = []
    var heldBytes = 0

    // Replies in the order of their requests.
    var replies: [Reply] = []
    /// One of its requests waits for its turn (`LongAnswers`).
    var isInLine = false
    var lane = RequestLane()
    /// Its peer disconnected while the loop stood still: its earlier requests are too late to be carried out.
    var isDeserted = false
    var isReadingPaused = false

    // Data that waits for the end of the turn, or for the peer to read; events are in its `Line`.
    var outbox: [UInt8] = []
    var congestedSince: Milliseconds?
    /// An upper bound of the bytes that were still unsent when the connection became congested.
    var unsent: UInt32 = 0
    /// A pending `stale` or `live`; only the newest counts.
    var staleness: Staleness?
    /// Pending messages about its own user; of each kind only the newest counts.
    package var ownMessages: OwnMessages = []
    /// The last chosen status that was sent to it; `nil` before the first.
    package var toldStatus: LocalUser.Chosen?

    enum Staleness { case stale, live }

    package init(
        socket: SocketID, headerToken: String?, address: AddressBlock = .none, now: Milliseconds,
        firstPing: Milliseconds
    ) {
        self.socket = socket
        self.headerToken = headerToken
        self.address = address
        began = now
        lastHeard = now
        nextPing = firstPing
    }

    /// Its index in the arrays of `Watchers`.
    package var index: Int { Int(socket.index) }

    /// A reply's place in the order; `emit` is set when its content is known. `hurry` is set while the request could be
    /// answered sooner, and is called once if something waits for the reply.
    package final class Reply {
        var emit: (() -> Void)?
        var hurry: (() -> Void)?
        /// Called once when the reply's content is known (`RequestLane`).
        var decided: (() -> Void)?
        /// Called once with the reply's length in bytes: 0 if it is not sent.
        var answered: ((Int?) -> Void)?
    }
}
