import Foundation
import PresenceProtocol

// What the app asks for.
extension Session {
    /// A call begins; its answer is a ``Directive/answer(_:_:)``.
    mutating func begin(_ id: CallID, _ call: Call, at now: Moment) {
        callDeadlines[id] = now.uptime + configuration.requestTimeout
        connect(again: false, at: now)
        switch call {
        case .get(let users): read(users, id, at: now)
        case .setStatus(let change): setStatus(PendingStatus(change, call: id, at: now.uptime), at: now)
        case .updateProfile(let changes, .keep) where !isConnected:
            profileQueue.append(changes)
            keptProfileChanged()
            answer(id, .success(.profile(.kept)))
        case .startTyping(let conversation) where !isConnected:
            ownTyping.start(conversation, at: now.uptime)
            answer(id, .success(.done))
        case .stopTyping(let conversation) where !isConnected:
            _ = ownTyping.stop(conversation)
            answer(id, .success(.done))
        case .updateProfile, .createConversation, .startTyping, .stopTyping, .changeVisibility, .readVisibility:
            if isConnected {
                perform(id, call, at: now)
            } else if isAway {
                answer(id, .failure(whyAway))
            } else {
                deferred.append((id, call))
            }
        }
    }

    /// Does on the connection what can only be done there.
    mutating func perform(_ id: CallID, _ call: Call, at now: Moment) {
        switch call {
        case .updateProfile(let changes, let whenAway):
            send(.updateProfile(changes), .updateProfile(changes, whenAway, id))
        case .createConversation(let others):
            send(.createConversation(participants: others), .createConversation(id))
        case .startTyping(let conversation):
            // Called at every key press: what was said lately is not said again.
            if ownTyping.contains(conversation) { return answer(id, .success(.done)) }
            ownTyping.start(conversation, at: now.uptime)
            send(.typing(conversation: conversation, typing: true), .typing(conversation, call: id))
        case .stopTyping(let conversation):
            guard ownTyping.stop(conversation) else { return answer(id, .success(.done)) }
            send(.typing(conversation: conversation, typing: false), .stopTyping(id))
        case .changeVisibility(let body): send(body, .changeVisibility(id))
        case .readVisibility: send(.getVisibility, .readVisibility(VisibilityLists(), id))
        case .get, .setStatus: preconditionFailure("\(call) does not wait for a connection")
        }
    }

    /// Ends a call; the first answer counts.
    mutating func answer(_ id: CallID, _ result: Result<Reply, PresenceError>) {
        guard callDeadlines.removeValue(forKey: id) != nil else { return }
        readings[id] = nil
        deferred.removeAll { $0.id == id }
        say(.answer(id, result))
    }

    mutating func timeOut(_ id: CallID) {
        let isSent = requests.values.contains { $0.changesSomething(for: id) }
        let isPending = pendingStatus?.calls.contains(id) == true
        answer(
            id,
            .failure(
                PresenceError(
                    .timedOut, "no answer within \(configuration.requestTimeout)", outcomeUnknown: isSent || isPending))
        )
    }

    // MARK: When the connection ends

    /// What becomes of a request whose answer will not come.
    mutating func lose(_ request: Request) {
        switch request {
        case .get(_, let call): readings[call]?.requests = 0
        case .connect(_, let status): if let status { choose(status) }
        case .status(let status): choose(status)
        case .updateProfile(let changes, .keep, let call):
            profileQueue.append(changes)
            keptProfileChanged()
            answer(call, .success(.profile(.kept)))
        case .readVisibility(_, let call):
            answer(call, .failure(PresenceError(.connectionLost, "the connection broke before the answer came")))
        case .updateProfile(_, .fail, let call), .createConversation(let call), .changeVisibility(let call):
            let error = PresenceError(
                .connectionLost, "the connection broke before the answer came", outcomeUnknown: true)
            answer(call, .failure(error))
        case .typing(_, let call):
            // It goes on with the next connection.
            if let call { answer(call, .success(.done)) }
        case .stopTyping(let call):
            // Without the connection it ends by itself.
            answer(call, .success(.done))
        case .refresh, .subscribe, .follow, .unsubscribe, .keptProfile, .probe: break
        }
    }

    /// There is no connection and will be none soon.
    mutating func failWhatCannotWait(_ error: PresenceError, at now: Moment) {
        let waiting = deferred
        deferred = []
        for (id, call) in waiting {
            if case .updateProfile(let changes, .keep) = call {
                profileQueue.append(changes)
                keptProfileChanged()
                answer(id, .success(.profile(.kept)))
            } else {
                answer(id, .failure(whyAway))
            }
        }
        for id in readings.keys.sorted() { askCache(for: id, failingWith: isClosed ? whyAway : nil) }
    }

    var isClosed: Bool {
        if case .closed = phase { true } else { false }
    }

    /// What a call that cannot be made now fails with.
    var whyAway: PresenceError {
        switch phase {
        case .closed(.some(let error)): error
        case .closed(nil): PresenceError(.notConnected, "the app disconnected")
        case .waiting(_, let delay, let error):
            PresenceError(.notConnected, "not connected: \(error.message)", retryAfter: delay)
        case .idle, .fetchingToken, .dialling, .introducing, .connected:
            PresenceError(.notConnected, "not connected")
        }
    }

    // MARK: The own status

    private mutating func setStatus(_ newer: PendingStatus, at now: Moment) {
        if isConnected {
            send(.status(newer.change(at: now.uptime)), .status(newer))
        } else if isClosed {
            newer.calls.forEach { answer($0, .failure(whyAway)) }
        } else {
            choose(newer)
        }
    }

    /// Keeps a choice for the next connection, on top of what was chosen before.
    mutating func choose(_ newer: PendingStatus) {
        if pendingStatus == nil { pendingStatus = newer } else { pendingStatus!.append(newer) }
    }

    mutating func failStatus(_ error: PresenceError) {
        guard let pending = pendingStatus else { return }
        pendingStatus = nil
        pending.calls.forEach { answer($0, .failure(error)) }
    }

    // MARK: The own profile

    /// Sends what is kept, if there is anything and nothing is on its way.
    mutating func sendKeptProfile(at now: Moment) {
        guard isConnected, let changes = profileQueue.take(at: now.uptime) else { return }
        send(.updateProfile(changes), .keptProfile)
    }

    // MARK: Activity

    mutating func setActivity(_ newer: Activity) {
        guard newer != activity else { return }
        activity = newer
        if isConnected { send(.activity(newer)) }
    }

    /// The app went to the background.
    mutating func background(at now: Moment) {
        for conversation in ownTyping.stopAll() where isConnected {
            send(.typing(conversation: conversation, typing: false))
        }
        setActivity(.background)
        for (user, person) in people where person.isConfirmed { uncached.insert(user) }
    }

    /// The app is in front again: a connection is asked whether it lives, waiting for one ends.
    mutating func foreground(at now: Moment) {
        activity = .active
        switch phase {
        case .connected:
            if heartbeatDeadlines.death <= now.uptime { return reconnectNow(at: now) }
            let due = now.uptime + min(heartbeat.timeout, .seconds(5))
            send(.activity(.active), .probe(due: due))
        case .waiting: reconnectNow(at: now)
        case .idle, .fetchingToken, .dialling, .introducing, .closed: break
        }
    }
}

extension Request {
    /// Whether it may change something that this call waits for.
    func changesSomething(for call: CallID) -> Bool {
        switch self {
        case .status(let pending): pending.calls.contains(call)
        case .updateProfile(_, _, call), .createConversation(call), .changeVisibility(call),
            .typing(_, call: .some(call)), .stopTyping(call):
            true
        default: false
        }
    }
}
