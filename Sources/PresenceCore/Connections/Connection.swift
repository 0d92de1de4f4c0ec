import PresenceProtocol
import WebSockets

/// One socket: who speaks on it, and what waits to be written to it beside events. What it watches, and which events
/// wait, is in its `Line`.
///
/// What it holds is bounded: replies by the number of requests that may wait, everything else by one mark for each
/// register that it watches.
package final class Connection {
    package let socket: SocketID
    /// From the upgrade request's `Authorization: Bearer`.
    let headerToken: String?
    /// The client's address, for counting failed tokens.
    package let address: AddressBlock
    /// Moved by the time for which the loop stood still.
    package internal(set) var began: Milliseconds

    package var session: Session?
    /// A token of it is being verified, off the loop.
    var isVerifying = false
    /// When its token runs out, by Redis' clock.
    var tokenExpiresAt: Timestamp?
    /// The expiry of which notice was given: once for each life of a token, also if a client sends the same one again.
    var noticedExpiry: Timestamp?
    /// `connected` has been said.
    package var isGreeted = false

    /// When anything at all was last received. Read by deadlines, so that a message costs one store.
    var lastHeard: Milliseconds
    var nextPing: Milliseconds
    /// When its deadline is looked at next; an entry that comes earlier was replaced by this one.
    var nextLook: Milliseconds = 0
    var badRequests = 0
    /// Refreshes that were refused.
    var failedRefreshes = 0
    /// Requests to leave that wait for their turn.
    package var leaving = 0
    /// How fast it asks.
    var bucket = TokenBucket()
    var refusals = RateRefusals()
    /// The server has closed it, or it is gone; nothing more is read from or written to it.
    package var isClosed = false
    /// What the server closed it with.
    var closedWith: CloseCode?

    /// Messages that came while its session was not let in yet, in their order (`HeldMessages.swift`).
    var held: [[UInt8]] = []
    var heldBytes = 0

    // Replies, in the order of their requests.
    var replies: [Reply] = []
    /// A request of it waits for its turn (`LongAnswers`).
    var isInLine = false
    var lane = RequestLane()
    /// Its peer had gone when the loop stood still: what it said before comes too late to be carried out.
    var isDeserted = false
    var isReadingPaused = false

    // What waits for the end of the turn, or for the peer to read; events are in its `Line`.
    var outbox: [UInt8] = []
    var congestedSince: Milliseconds?
    /// Of what was written when it began to take no more: as much as may wait below, at most.
    var unsent: UInt32 = 0
    /// `stale` or `live` when that is still to be said; only the newest counts.
    var staleness: Staleness?
    /// Messages about its own user that are still to be said; of each only the newest counts.
    package var ownMessages: OwnMessages = []
    /// What its user chose, as it was told last; `nil` before it was told anything.
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

    /// Where it stands in the arrays of `Watchers`.
    package var index: Int { Int(socket.index) }

    /// A reply's place in the order; `emit` is set when its content is known. `hurry` is there while the request could be
    /// answered sooner: it is called once if something waits for it.
    package final class Reply {
        var emit: (() -> Void)?
        var hurry: (() -> Void)?
        /// Told once that the answer is known (`RequestLane`).
        var decided: (() -> Void)?
        /// Told of the answer's length in bytes, once: 0 if it goes nowhere.
        var answered: ((Int?) -> Void)?
    }
}
