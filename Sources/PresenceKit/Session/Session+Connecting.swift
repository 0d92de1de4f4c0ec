import Foundation
import PresenceProtocol

// How the connection comes about and ends.
extension Session {
    /// Connects unless it is under way; after a closing only when the app asks (`again`).
    mutating func connect(again: Bool, at now: Moment) {
        switch phase {
        case .idle: break
        case .closed where again: reconnection.reset()
        case .closed, .fetchingToken, .dialling, .introducing, .connected, .waiting: return
        }
        if let flaw { return close(flaw, at: now) }
        start(at: now)
    }

    /// Begins an attempt.
    mutating func start(at now: Moment) {
        attempt += 1
        rejection = nil
        isRefreshing = false
        refreshAt = nil
        if token == nil {
            enter(.fetchingToken)
            say(.fetchToken(attempt))
        } else {
            tokenIsFresh = false
            dial(at: now)
        }
    }

    mutating func take(_ result: Result<String, PresenceError>, at now: Moment) {
        if isConnected { return refresh(result, at: now) }
        guard phase == .fetchingToken else { return }
        switch result {
        case .success(let token):
            self.token = token
            tokenIsFresh = true
            dial(at: now)
        case .failure(let error):
            end(.noToken(error), at: now)
        }
    }

    private mutating func dial(at now: Moment) {
        enter(.dialling(until: now.uptime + configuration.connectTimeout))
        say(.open(attempt))
    }

    /// The transport is open.
    mutating func introduce(at now: Moment) {
        guard case .dialling(let deadline) = phase else { return }
        enter(.introducing(until: deadline))
        askedToConnect = now
        let status = pendingStatus
        pendingStatus = nil
        introduce(with: status, at: now)
    }

    /// The status holds from the first moment: nobody sees a flash of another one.
    mutating func introduce(with status: PendingStatus?, at now: Moment) {
        let change = status?.change(at: now.uptime)
        send(
            .connect(.init(token: token, device: device, activity: activity, status: change)),
            .connect(activity, status))
    }

    mutating func connected(_ id: Int64?, _ connected: ServerMessage.Connected, at now: Moment) {
        guard case .introducing = phase, let id, case .connect(let saidActivity, let saidStatus) = requests[id] else {
            return
        }
        requests[id] = nil
        saidStatus?.calls.forEach { answer($0, .success(.done)) }
        if let user, user != connected.user { forget(at: now) }
        user = connected.user
        limits = connected.limits
        heartbeat = Heartbeat(
            interval: .milliseconds(connected.heartbeatInterval), timeout: .milliseconds(connected.heartbeatTimeout))
        clock.set(to: connected.serverTime, asked: askedToConnect, heard: now)
        reconnection.connected(at: now.uptime)
        hasPinged = false
        serverStaleSince = nil
        enter(.connected)

        // What the app chose while `connect` was on its way.
        if let pending = pendingStatus {
            pendingStatus = nil
            send(.status(pending.change(at: now.uptime)), .status(pending))
        }
        if activity != saidActivity { send(.activity(activity)) }
        if let status = connected.status { hold(status) }
        unsettledPeople.formUnion(people.keys)
        unsettledConversations.formUnion(conversations.keys)
        for conversation in ownTyping.takeAll(at: now.uptime) {
            send(.typing(conversation: conversation, typing: true), .typing(conversation, call: nil))
        }
        sendKeptProfile(at: now)
        let waiting = deferred
        deferred = []
        for (id, call) in waiting where callDeadlines[id] != nil { perform(id, call, at: now) }
        for id in readings.keys.sorted() { ask(for: id) }
    }

    // MARK: Ends

    /// The connection, or the attempt to make one, is over.
    mutating func end(_ ending: Ending, at now: Moment) {
        switch phase {
        case .idle, .closed, .waiting: return
        case .fetchingToken, .dialling, .introducing, .connected: break
        }
        // A close after a refused `connect` says less than the refusal did.
        var ending = ending
        if let rejection {
            ending =
                rejection.code == .unauthorized
                ? .closed(code: .unauthorized, reason: []) : .rejected(rejection)
        }
        if ending.refusesToken { token = nil }

        drop(at: now)
        let verdict = reconnection.verdict(
            on: ending, at: now.uptime, freshToken: tokenIsFresh, random: random())
        switch verdict {
        case .again(let delay):
            enter(.waiting(until: now.uptime + delay, for: delay, because: ending.error))
            failWhatCannotWait(ending.error, at: now)
        case .never(let error):
            close(error, at: now)
        }
    }

    /// Makes no further attempt until the app asks.
    mutating func close(_ error: PresenceError?, at now: Moment) {
        drop(at: now)
        attempt += 1
        enter(.closed(error))
        failWhatCannotWait(error ?? PresenceError(.notConnected, "the app disconnected"), at: now)
        failStatus(error ?? PresenceError(.notConnected, "the app disconnected"))
    }

    /// Whatever belonged to the connection goes: what is shown becomes stale, requests fail or wait to be repeated.
    private mutating func drop(at now: Moment) {
        let date = serverStaleSince ?? clock.date(at: Moment(uptime: lastHeard, wall: now.wall))
        let wasConnected = isConnected
        subscriptions = 0
        for user in people.keys {
            if people[user]!.lose(at: date) {
                uncached.insert(user)
                touch(user)
            }
            if people[user]!.watch.loops == 0 { unsettledPeople.insert(user) }
        }
        for conversation in conversations.keys {
            if conversations[conversation]!.lose(at: date) { touch(conversation: conversation) }
            if conversations[conversation]!.watch.loops == 0 { unsettledConversations.insert(conversation) }
        }
        if wasConnected, ownStatus != nil {
            ownStatusStaleSince = date
            ownStatusStamp = nextStamp()
            wakeLoops(on: .ownStatus)
        }
        serverStaleSince = nil
        hasPinged = false
        profileQueue.requeue()
        let lost = requests.sorted { $0.key < $1.key }
        requests = [:]
        // Nothing chosen later may be overwritten by what is repeated: the present choice goes on top.
        let newest = pendingStatus
        pendingStatus = nil
        for (_, request) in lost { lose(request) }
        if let newest { choose(newest) }
    }

    /// Leaves without the server taking it for a goodbye, and comes back at once.
    mutating func reconnectNow(at now: Moment) {
        switch phase {
        case .idle, .closed, .fetchingToken: return
        case .dialling, .introducing, .connected:
            say(.abort)
            drop(at: now)
        case .waiting: break
        }
        reconnection.reset()
        start(at: now)
    }

    /// The app leaves.
    mutating func disconnect(at now: Moment) {
        sayGoodbye()
        close(nil, at: now)
    }

    func hasTransport() -> Bool {
        switch phase {
        case .dialling, .introducing, .connected: true
        case .idle, .fetchingToken, .waiting, .closed: false
        }
    }

    private mutating func sayGoodbye() {
        if isConnected { send(.disconnect) }
        if hasTransport() { say(.close) }
    }

    /// The app leaves for good, as far as this user is concerned.
    mutating func signOut(at now: Moment) {
        sayGoodbye()
        drop(at: now)
        forget(at: now)
        close(nil, at: now)
        for (id, loop) in loops where loop.topic != .connection { endLoop(id) }
        people = [:]
        conversations = [:]
    }

    /// The app goes on as another user.
    mutating func switchUser(at now: Moment) {
        sayGoodbye()
        let wasIdle = phase == .idle
        drop(at: now)
        attempt += 1
        forget(at: now)
        reconnection.reset()
        if let flaw { return close(flaw, at: now) }
        if wasIdle { return }
        start(at: now)
    }

    /// Everything held for the user goes.
    private mutating func forget(at now: Moment) {
        let error = PresenceError(.signedOut, "the user signed out or was changed")
        let date = clock.date(at: now)
        token = nil
        user = nil
        ownStatus = nil
        ownStatusStamp = 0
        _ = ownTyping.stopAll()
        profileQueue = ProfileQueue()
        keptProfileChanged()
        failStatus(error)
        for id in callDeadlines.keys.sorted() { answer(id, .failure(error)) }
        deferred = []
        readings = [:]
        for user in people.keys {
            people[user]!.forget(at: date)
            touch(user)
        }
        for conversation in conversations.keys {
            conversations[conversation]!.forget(at: date)
            touch(conversation: conversation)
        }
        uncached = []
        say(.clearCache)
    }

    // MARK: Signs of life

    mutating func hear(at now: Moment) {
        lastHeard = now.uptime
        hasPinged = false
    }

    /// When a sign of life is asked for, and when it is given up.
    var heartbeatDeadlines: (ping: Duration, death: Duration) {
        (lastHeard + heartbeat.interval + heartbeat.timeout / 2, lastHeard + heartbeat.interval + heartbeat.timeout)
    }

    // MARK: The token

    mutating func tokenExpires(in rest: Milliseconds, at now: Moment) {
        guard isConnected else { return }
        token = nil
        // If this one fails there is time for some more before the server closes.
        refreshAt = now.uptime + max(.milliseconds(rest) / 4, .seconds(1))
        fetchForRefresh()
    }

    mutating func fetchForRefresh() {
        guard !isRefreshing else { return }
        isRefreshing = true
        say(.fetchToken(attempt))
    }

    private mutating func refresh(_ result: Result<String, PresenceError>, at now: Moment) {
        guard isRefreshing, case .success(let token) = result else {
            isRefreshing = false
            return
        }
        self.token = token
        send(.refresh(token: token), .refresh)
    }

    mutating func refreshed(_ accepted: Bool) {
        isRefreshing = false
        if accepted { refreshAt = nil } else { token = nil }
    }

    mutating func enter(_ phase: Phase) {
        let before = connectionState
        self.phase = phase
        if connectionState != before { connectionChanged() }
    }
}

extension Ending {
    fileprivate var refusesToken: Bool {
        switch self {
        case .closed(.unauthorized, _), .closed(.tokenExpired, _), .closed(.noConnect, _), .refused(401),
            .refused(403):
            true
        case .closed, .lost, .refused, .silent, .rejected, .noToken, .nonsense: false
        }
    }
}
