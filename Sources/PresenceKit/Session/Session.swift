import Foundation
import PresenceProtocol

/// The client's side of the protocol as a value: told what happens and when, it says what to do, and does no I/O.
///
/// It holds the one connection's phase, what is observed, what was sent and not answered, and what the app wants to
/// hold over connections. It guarantees: no answer is lost without its call being told; what is shown as live was
/// confirmed on the present connection and every change since has been applied; what is observed is asked for again on
/// every connection. All of it is bounded by what the app asks for.
struct Session: Sendable {
    /// ```text
    ///  idle ─▶ fetchingToken ─▶ dialling ─▶ introducing ─▶ connected
    ///              ▲                │            │             │
    ///              └──── waiting ◀──┴────────────┴─────────────┘      closed: from any, until `connect`
    /// ```
    enum Phase: Hashable, Sendable {
        case idle
        case fetchingToken(until: Duration)
        case dialling(until: Duration)
        /// The transport is open and `connect` was sent.
        case introducing(until: Duration)
        case connected
        case waiting(until: Duration, for: Duration, because: PresenceError)
        case closed(PresenceError?)
    }

    let configuration: PresenceClient.Configuration
    let device: PresenceProtocol.Device
    /// Why no attempt to connect makes sense: a URL or a device that cannot be.
    let flaw: PresenceError?

    // The connection.
    var phase = Phase.idle
    var attempt: Attempt = 0
    var reconnection: Reconnection
    /// Evenly distributed in 0..<1.
    let random: @Sendable () -> Double
    var clock = ServerClock()
    /// The token that the next connection will use; `nil` if one has to be fetched.
    var token: String?
    /// Whether it was fetched for the present attempt.
    var tokenIsFresh = false
    /// A new token is being fetched to refresh the present connection's.
    var isRefreshing = false
    /// When to try refreshing again.
    var refreshAt: Duration?
    var askedToConnect = Moment(uptime: .zero, wall: .distantPast)
    /// What the server said when it refused `connect`.
    var rejection: PresenceError?
    /// When anything last came from the server.
    var lastHeard: Duration = .zero
    /// Whether the other side was asked for a sign of life since.
    var hasPinged = false
    var heartbeat = Heartbeat()
    var limits = ConnectionLimits()
    /// Since when the connected server does not know the truth; `nil` while it does.
    var serverStaleSince: Date?

    // What is observed.
    var people: [UserID: HeldPerson] = [:]
    var conversations: [ConversationID: HeldConversation] = [:]
    var loops: [LoopID: Loop] = [:]
    var rosters: [LoopID: HeldRoster] = [:]
    /// Which loops look at whom, to wake them.
    var loopsByUser: [UserID: Set<LoopID>] = [:]
    var loopsByConversation: [ConversationID: Set<LoopID>] = [:]
    /// Those whose stage needs a look at the end of the turn: new ones, left ones, those to be asked again.
    var unsettledPeople: Set<UserID> = []
    var unsettledConversations: Set<ConversationID> = []
    /// Subscriptions that the server has or was asked for.
    var subscriptions = 0
    /// Grows with every change that a loop could show.
    var stamp: UInt64 = 1
    var connectionStamp: UInt64 = 1
    var ownStatusStamp: UInt64 = 0
    var keptProfileStamp: UInt64 = 1

    // The own user.
    var user: UserID?
    var ownStatus: OwnStatus?
    var ownStatusStaleSince: Date?
    var activity = Activity.active
    var pendingStatus: PendingStatus?
    var profileQueue = ProfileQueue()
    var ownTyping: OwnTyping

    // Requests and calls.
    var requests: [Int64: Request] = [:]
    var lastRequestID: Int64 = 0
    /// Calls that wait, and when their time is up.
    var callDeadlines: [CallID: Duration] = [:]
    /// Calls that wait for the first connection.
    var deferred: [(id: CallID, call: Call)] = []
    /// Creations whose outcome is unknown: they are asked for again as soon as there is a connection and `due` has come.
    var repeats: [CallID: (creation: Creation, due: Duration)] = [:]
    var readings: [CallID: Reading] = [:]

    // What leaves at the end of the turn.
    private(set) var directives: [Directive] = []
    var woken: Set<LoopID> = []
    /// People whose cached copy is out of date.
    var uncached: Set<UserID> = []
    private var lastLoop: UInt64 = 0

    /// What the server said about signs of life.
    struct Heartbeat: Hashable, Sendable {
        var interval = Duration.seconds(20)
        var timeout = Duration.seconds(10)
    }

    init(
        configuration: PresenceClient.Configuration, device: PresenceProtocol.Device, flaw: PresenceError? = nil,
        random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
    ) {
        self.configuration = configuration
        self.device = device
        self.flaw = flaw
        self.random = random
        reconnection = Reconnection(base: configuration.reconnectBase, cap: configuration.reconnectCap)
        ownTyping = OwnTyping(interval: configuration.typingInterval)
    }

    // MARK: The turn

    /// Takes in what happened.
    mutating func handle(_ input: Input, at now: Moment) {
        switch input {
        case .token(let attempt, let result) where attempt == self.attempt: take(result, at: now)
        case .opened(let attempt) where attempt == self.attempt: introduce(at: now)
        case .received(let attempt, let bytes) where attempt == self.attempt:
            hear(at: now)
            receive(bytes, at: now)
        case .alive(let attempt) where attempt == self.attempt: hear(at: now)
        case .ended(let attempt, let ending) where attempt == self.attempt: end(ending, at: now)
        case .token, .opened, .received, .alive, .ended: break
        case .cached(let users, let found): recall(users, found, at: now)
        case .call(let id, let call): begin(id, call, at: now)
        case .cancel(let id): cancel(id)
        case .tick: tick(at: now)
        }
    }

    /// Ends the turn: asks for whom became observed, leaves who is no more, lets the loops look. What happened in one
    /// turn is asked for in one message.
    mutating func endTurn(at now: Moment) -> [Directive] {
        settleSubscriptions(at: now)
        if !uncached.isEmpty {
            let date = clock.date(at: now)
            let people = uncached.compactMap { user in self.people[user]?.cached(as: user, at: date) }
            uncached = []
            if !people.isEmpty { directives.append(.writeCache(people)) }
        }
        if !woken.isEmpty {
            directives.append(.wake(Array(woken)))
            woken = []
        }
        defer { directives = [] }
        return directives
    }

    mutating func say(_ directive: Directive) {
        directives.append(directive)
    }

    /// Sends a request and remembers what its answer is for.
    mutating func send(_ body: ClientMessage.Body, _ request: Request) {
        lastRequestID += 1
        requests[lastRequestID] = request
        directives.append(.send(ClientMessage(id: lastRequestID, body).encoded()))
    }

    /// Sends what needs no answer.
    mutating func send(_ body: ClientMessage.Body) {
        directives.append(.send(ClientMessage(body).encoded()))
    }

    mutating func newLoopID() -> LoopID {
        lastLoop += 1
        return LoopID(number: lastLoop)
    }

    var isConnected: Bool { phase == .connected }

    /// Whether reads are answered from the cache: an attempt failed, or there will be none.
    var isAway: Bool {
        switch phase {
        case .waiting, .closed: true
        case .fetchingToken, .dialling, .introducing: reconnection.failures > 0
        case .idle, .connected: false
        }
    }
}

extension HeldPerson {
    func cached(as user: UserID, at date: Date) -> CachedPerson? {
        guard let presence, let profile else { return nil }
        return CachedPerson(
            user: user, asOf: isConfirmed ? date : staleSince ?? date, presence: presence, profile: profile)
    }
}
