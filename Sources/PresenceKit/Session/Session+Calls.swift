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
        // There will never be a connection: what can wait for one would wait for ever.
        case _ where flaw != nil: answer(id, .failure(whyAway))
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
        case .createConversation(let creation): create(creation, id)
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
        repeats[id] = nil
        deferred.removeAll { $0.id == id }
        say(.answer(id, result))
    }

    mutating func timeOut(_ id: CallID) {
        let message = "no answer within \(configuration.requestTimeout)"
        answer(id, .failure(PresenceError(.timedOut, message, outcomeUnknown: mayBeDone(id))))
    }

    mutating func cancel(_ id: CallID) {
        answer(id, .failure(PresenceError(.cancelled, "the task was cancelled", outcomeUnknown: mayBeDone(id))))
    }

    /// Whether what a call asks for may have been done, or may still be, if the call ends now.
    private func mayBeDone(_ id: CallID) -> Bool {
        requests.values.contains { $0.changesSomething(for: id) } || pendingStatus?.calls.contains(id) == true
            || repeats[id] != nil
    }

    // MARK: Creations

    private mutating func create(_ creation: Creation, _ id: CallID) {
        send(
            .createConversation(participants: creation.participants, key: creation.key),
            .createConversation(creation, id))
    }

    /// A creation's outcome is unknown: it is asked for again, as long as its call waits.
    mutating func repeatLater(_ creation: Creation, _ id: CallID, due: Duration) {
        guard callDeadlines[id] != nil else { return }
        var creation = creation
        creation.isRepeated = true
        repeats[id] = (creation, due)
    }

    mutating func sendRepeats(at now: Moment) {
        for id in repeats.filter({ $0.value.due <= now.uptime }).keys.sorted() {
            if let again = repeats.removeValue(forKey: id) { create(again.creation, id) }
        }
    }

    // MARK: When the connection ends

    /// What becomes of a request whose answer will not come.
    mutating func lose(_ request: Request) {
        switch request {
        case .get(_, let call): readings[call]?.requests = 0
        case .connect(_, let status): if let status { choose(again: status) }
        case .status(let status): choose(again: status)
        case .updateProfile(let changes, .keep, let call):
            profileQueue.append(changes)
            keptProfileChanged()
            answer(call, .success(.profile(.kept)))
        case .readVisibility(_, let call):
            answer(call, .failure(PresenceError(.connectionLost, "the connection broke before the answer came")))
        case .createConversation(let creation, let call): repeatLater(creation, call, due: .zero)
        case .updateProfile(_, .fail, let call), .changeVisibility(let call):
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

    /// What becomes of a request in flight when all that belongs to the user is forgotten: nothing of it is kept.
    mutating func abandon(_ request: Request, _ error: PresenceError) {
        var unknown = error
        unknown.outcomeUnknown = true
        for id in callDeadlines.keys.sorted() where request.changesSomething(for: id) {
            answer(id, .failure(unknown))
        }
    }

    /// There is no connection and will be none soon.
    mutating func failWhatCannotWait() {
        for (id, _) in deferred { answer(id, .failure(whyAway)) }
        deferred = []
        if isClosed {
            var error = whyAway
            error.outcomeUnknown = true
            for id in repeats.keys.sorted() { answer(id, .failure(error)) }
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

    /// The same for one that was sent, and perhaps heard.
    private mutating func choose(again status: PendingStatus) {
        var status = status
        status.wasSent = true
        choose(status)
    }

    mutating func failStatus(_ error: PresenceError) {
        guard let pending = pendingStatus else { return }
        pendingStatus = nil
        var error = error
        error.outcomeUnknown = pending.wasSent
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
        case .status(let pending), .connect(_, let pending?): pending.calls.contains(call)
        case .updateProfile(_, _, call), .createConversation(_, call), .changeVisibility(call),
            .typing(_, call: .some(call)), .stopTyping(call):
            true
        default: false
        }
    }
}
