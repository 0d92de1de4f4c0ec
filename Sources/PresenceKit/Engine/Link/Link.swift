import Foundation
import PresenceProtocol

/// The connection: its phases, attempts and token, its heartbeat, and the server's clock and limits.
struct Link: Sendable {
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

    let device: PresenceProtocol.Device
    /// Why no attempt makes sense: an invalid URL or device, or the app closed the client.
    private(set) var flaw: PresenceError?
    private let connectTimeout: Duration
    let tokenTimeout: Duration
    /// Evenly distributed in 0..<1.
    private let random: @Sendable () -> Double

    /// How long calls that can do without a connection wait for the first one.
    private let patience: Duration
    /// When the wait for the first connection ends; `nil` unless it has begun.
    private var lateAt: Duration?
    /// Whether that wait has ended.
    private(set) var isLate = false
    /// How long a read whose value is cached waits for the first connection.
    private static let readingPatience = Duration.milliseconds(300)
    /// When that wait ends; `nil` unless it has begun.
    private var slowAt: Duration?
    /// Whether that wait has ended.
    private(set) var isSlow = false

    private(set) var phase = Phase.idle
    private(set) var attempt: Attempt = 0
    private(set) var clock = ServerClock()
    private(set) var limits = ConnectionLimits()
    private(set) var heartbeat = Heartbeat()
    /// Since when the connected server may have missed changes; `nil` if it has not.
    private(set) var staleSince: Date?
    /// Increases with every change of ``state``.
    private(set) var stamp: UInt64 = 1
    private var credential = Credential()
    /// The token of the present user that the server accepted last. It may name no user.
    var confirmedToken: String?
    private var reconnection: Reconnection
    private var askedToConnect = Moment(uptime: .zero, wall: .distantPast)
    /// The server's error when it rejected `connect`.
    private var rejection: PresenceError?

    init(
        configuration: PresenceClient.Configuration, device: PresenceProtocol.Device, flaw: PresenceError?,
        tokenIsFixed: Bool, random: @escaping @Sendable () -> Double
    ) {
        (self.device, self.flaw, self.random) = (device, flaw, random)
        connectTimeout = configuration.connectTimeout
        tokenTimeout = configuration.tokenTimeout
        patience = configuration.patience
        reconnection = Reconnection(base: configuration.reconnectBase, cap: configuration.reconnectCap)
        reconnection.tokenIsFixed = tokenIsFixed
    }

    var token: String? { credential.token }

    /// Whether an attempt failed since the last connection that lasted.
    var hasFailed: Bool { reconnection.failures > 0 }

    /// Whether the app closed the client.
    var isRetired: Bool { flaw == .clientClosed }

    /// The app closes the client: no attempt makes sense any more.
    mutating func retire() { flaw = .clientClosed }

    // MARK: Connecting

    /// Whether `connect` starts an attempt; after a closing only if the app asks (`again`).
    mutating func accepts(connect again: Bool) -> Bool {
        switch phase {
        case .idle: return true
        case .closed where again:
            reconnection.reset()
            return true
        case .closed, .fetchingToken, .dialling, .introducing, .connected, .waiting: return false
        }
    }

    /// Begins an attempt.
    mutating func start(at now: Moment) -> [Directive] {
        attempt += 1
        rejection = nil
        if lateAt == nil, !isLate {
            lateAt = now.uptime + patience
            slowAt = now.uptime + min(patience, Self.readingPatience)
        }
        if credential.begin() { return dial(at: now) }
        enter(.fetchingToken(until: now.uptime + tokenTimeout))
        return [.fetchToken(attempt, new: credential.wantsNew)]
    }

    /// The token for this attempt was fetched.
    mutating func dial(with token: String, at now: Moment) -> [Directive] {
        credential.hold(token)
        return dial(at: now)
    }

    private mutating func dial(at now: Moment) -> [Directive] {
        enter(.dialling(until: now.uptime + connectTimeout))
        return [.dial(attempt)]
    }

    /// The transport is open; returns whether the link was waiting for that.
    mutating func opened(at now: Moment) -> Bool {
        guard case .dialling(let deadline) = phase else { return false }
        enter(.introducing(until: deadline))
        askedToConnect = now
        return true
    }

    mutating func connected(_ connected: ServerMessage.Connected, at now: Moment) {
        limits = connected.limits
        confirmedToken = token
        heartbeat.begin(
            interval: .milliseconds(connected.heartbeatInterval), timeout: .milliseconds(connected.heartbeatTimeout))
        clock.set(to: connected.serverTime, asked: askedToConnect, heard: now)
        reconnection.connected(at: now.uptime, linger: .milliseconds(max(connected.linger, 0)))
        staleSince = nil
        (lateAt, slowAt) = (nil, nil)
        (isLate, isSlow) = (false, false)
        enter(.connected)
    }

    /// The server rejected `connect`, or banned the user.
    mutating func reject(_ error: PresenceError) {
        rejection = error
    }

    // MARK: While connected

    mutating func receive(at now: Moment) {
        heartbeat.receive(at: now.uptime)
    }

    /// Sets or clears the time since when the server may have missed changes; returns whether it differs.
    mutating func becomeStale(since date: Date?) -> Bool {
        guard isConnected, staleSince != date else { return false }
        staleSince = date
        stamp += 1
        return true
    }

    mutating func tokenExpires(in rest: Milliseconds, at now: Moment) -> [Directive] {
        guard isConnected, !reconnection.tokenIsFixed,
            credential.expires(in: .milliseconds(rest), at: now.uptime)
        else { return [] }
        return [.fetchToken(attempt, new: credential.wantsNew)]
    }

    /// The token provider has returned while connected.
    mutating func refresh(with result: Result<String, PresenceError>) -> [Outgoing] {
        guard let token = credential.fetched(result) else { return [] }
        return [Outgoing(.refresh(token: token), .refresh)]
    }

    mutating func refreshed(_ accepted: Bool) {
        if accepted { confirmedToken = token }
        credential.refreshed(accepted)
    }

    // MARK: The end

    /// The connection or the attempt has ended; returns what follows. On `.never` the caller closes the link.
    mutating func end(_ ending: Ending, at now: Moment) -> Reconnection.Verdict {
        var ending = ending
        // After a rejected `connect`, the rejection says more than the close that follows it.
        if let rejection {
            ending =
                rejection.code == .unauthorized
                ? .closed(code: .unauthorized, reason: Array(rejection.message.utf8)) : .rejected(rejection)
        }
        if ending.refusesToken { credential.forget() }
        let verdict = reconnection.verdict(
            on: ending, at: now.uptime, freshToken: credential.isFresh, random: random())
        if case .again(let delay) = verdict {
            enter(.waiting(until: now.uptime + delay, for: delay, because: ending.error))
        }
        return verdict
    }

    /// Makes no further attempt until the app asks for one.
    mutating func close(_ error: PresenceError?) {
        attempt += 1
        (lateAt, slowAt) = (nil, nil)
        (isLate, isSlow) = (false, false)
        enter(.closed(error))
    }

    /// There is no network: the next attempt waits until the app reports a network, or for `delay`.
    mutating func wait(for delay: Duration, because error: PresenceError, at now: Moment) {
        attempt += 1
        enter(.waiting(until: now.uptime + delay, for: delay, because: error))
    }

    /// Drops what the server announced for this connection.
    mutating func drop() {
        staleSince = nil
        heartbeat.end()
    }

    /// The app reports that circumstances changed: attempts are counted from zero.
    mutating func resetAttempts() {
        reconnection.reset()
    }

    /// Drops the user's token.
    mutating func forget() {
        credential.clear()
    }

    /// From now on the provider returns another user's token.
    mutating func switchUser() {
        attempt += 1
        reconnection.reset()
        reconnection.tokenIsFixed = false
    }

    private mutating func enter(_ phase: Phase) {
        let before = state
        self.phase = phase
        if state != before { stamp += 1 }
    }

    // MARK: Time

    /// An action that is due because a deadline passed.
    enum Expiry {
        case end(Ending)
        /// The transport still exists and must be aborted.
        case hangUp(Ending)
        case start
    }

    func expiry(at uptime: Duration) -> Expiry? {
        switch phase {
        case .fetchingToken(let until) where until <= uptime:
            let error = PresenceError(
                .tokenUnavailable, "the token provider did not answer within \(tokenTimeout)")
            return .end(.noToken(error))
        case .dialling(let until) where until <= uptime, .introducing(let until) where until <= uptime:
            return .hangUp(.lost("no connection within \(connectTimeout)"))
        case .waiting(let until, _, _) where until <= uptime: return .start
        case .connected where heartbeat.death <= uptime: return .hangUp(.silent)
        case .idle, .fetchingToken, .dialling, .introducing, .connected, .waiting, .closed: return nil
        }
    }

    /// Whether the first connection has just exceeded `patience`.
    mutating func becomesLate(at uptime: Duration) -> Bool {
        guard let due = lateAt, due <= uptime else { return false }
        lateAt = nil
        isLate = true
        return true
    }

    /// Whether the first connection has just taken so long that reads whose value is cached wait no longer.
    mutating func becomesSlow(at uptime: Duration) -> Bool {
        guard let due = slowAt, due <= uptime else { return false }
        slowAt = nil
        isSlow = true
        return true
    }

    /// Sends the pings and token refreshes that are due.
    mutating func tick(at uptime: Duration) -> [Directive] {
        var directives: [Directive] = []
        if heartbeat.ping(at: uptime) { directives.append(.ping) }
        if credential.retry(at: uptime) { directives.append(.fetchToken(attempt, new: credential.wantsNew)) }
        return directives
    }

    var nextDeadline: Duration? {
        switch phase {
        case .fetchingToken(let until), .dialling(let until), .introducing(let until):
            min(until, lateAt ?? until, slowAt ?? until)
        case .waiting(let until, _, _): until
        case .connected: [heartbeat.nextDeadline, credential.refreshAt].compactMap(\.self).min()
        case .idle, .closed: nil
        }
    }
}
