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
            enter(.fetchingToken(until: now.uptime + configuration.tokenTimeout))
            say(.fetchToken(attempt))
        } else {
            tokenIsFresh = false
            dial(at: now)
        }
    }

    mutating func take(_ result: Result<String, PresenceError>, at now: Moment) {
        if isConnected { return refresh(result, at: now) }
        guard case .fetchingToken = phase else { return }
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
        reconnection.connected(at: now.uptime, linger: .milliseconds(max(connected.linger, 0)))
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
        sendRepeats(at: now)
        for id in readings.keys.sorted() { ask(for: id) }
    }

    mutating func enter(_ phase: Phase) {
        let before = connectionState
        self.phase = phase
        if connectionState != before { connectionChanged() }
    }
}
