import PresenceProtocol

// The app's calls.
extension Engine {
    /// Starts a call. It ends with a ``Directive/answer(_:_:)``.
    mutating func begin(_ id: CallID, _ call: Call, at now: Moment) {
        calls.begin(id, at: now.uptime)
        if let flaw = call.flaw { return answer(id, .failure(flaw)) }
        if case .other(let request) = call, request.user != userNumber { return answer(id, .failure(.signedOut)) }
        connect(again: false, at: now)
        switch call {
        case .get(let users): lookUp(users, id)
        // The user of this change is unknown. If the change were queued, it would be sent as the next user's.
        case _ where isSignedOut: answer(id, .failure(.signedOut))
        // There will never be a connection to wait for.
        case _ where link.flaw != nil: answer(id, .failure(whyAway(for: call)))
        case .setStatus(let change): setStatus(PendingStatus(change, call: id, at: now.uptime), for: id, at: now)
        // Queued changes precede this one, which must also survive the end of the process.
        case .updateProfile(let changes, .queue) where link.isAway || me.profile.isBusy:
            queue(changes, for: id)
        case _ where link.isConnected: perform(id, call)
        case .updateProfile, .createConversation, .changeVisibility, .readVisibility, .other:
            if link.isAway {
                answer(id, .failure(whyAway(for: call)))
            } else {
                calls.wait(id, call)
            }
        }
    }

    /// The error of a call that needs a connection. For a library the code is always `notConnected`, because it would
    /// take any other code for the server's reply.
    private func whyAway(for call: Call) -> PresenceError {
        let error = link.whyAway
        guard case .other = call, error.code != .notConnected else { return error }
        return PresenceError(.notConnected, "not connected: \(error)")
    }

    /// Performs a call that needs the connection.
    mutating func perform(_ id: CallID, _ call: Call) {
        switch call {
        case .updateProfile(let changes, .queue) where me.profile.isBusy: queue(changes, for: id)
        case _ where isOccupied(call.lane): calls.wait(id, call)
        case .updateProfile(let changes, let policy): send([.updateProfile(changes, policy, id)])
        case .createConversation(let creation): send([creation.message(for: id)])
        case .changeVisibility(let body): send(body, .changeVisibility(body, id))
        case .readVisibility: send(.getVisibility, .readVisibility(VisibilityLists(), id))
        case .other(let request): send([Outgoing(request, id)])
        case .get, .setStatus: preconditionFailure("\(call) does not wait for a connection")
        }
    }

    /// Whether a change in this lane is in flight, or must be sent before any later one.
    private func isOccupied(_ lane: Lane?) -> Bool {
        lane.map { calls.occupies($0) || requests.occupies($0, calls.isWaiting) } ?? false
    }

    /// Sends what waited for a rate limit, or for the replies to earlier requests.
    mutating func advance(at now: Moment) {
        send(me.sendChoice(at: now.uptime))
        me.profile.endPause(at: now.uptime)
        let isPreceded = calls.hasCall(in: .profile, before: me.profile.newest)
        if !isPreceded, !requests.occupies(.profile, calls.isWaiting) { send(me.sendKept(at: now.uptime)) }
        for (id, call) in calls.takeDeferred() { perform(id, call) }
    }

    private mutating func setStatus(_ newer: PendingStatus, for call: CallID, at now: Moment) {
        me.choice.forgetRefusal()
        if link.isConnected, me.choice.retryAt == nil {
            send([.status(me.choice.send(newer, for: call), at: now.uptime)])
        } else if link.isClosed {
            answer(call, .failure(link.whyAway))
        } else {
            me.choice.choose(newer, for: call, owner: me.account)
            if link.isAway { me.choice.release(owner: me.writer) }
        }
    }

    /// Stores a profile change. The call ends once it is stored.
    mutating func queue(_ changes: Wire.ProfileChanges, for id: CallID) {
        guard !changes.isEmpty else { return answer(id, .success(.profile(.queued))) }
        me.profile.append(KeptProfile(changes: changes, number: id.number), for: id, owner: me.writer)
    }

    /// A write was stored, or could not be stored.
    mutating func stored(_ write: String, _ error: PresenceError?) {
        if let error { emit(.log(.error, error.message)) }
        for (call, result) in me.stored(write, error) { answer(call, result) }
    }

    /// Writes were removed from the storage, or could not be removed.
    mutating func removed(_ writes: [String], _ error: PresenceError?, at now: Moment) {
        if let error {
            emit(.log(.error, error.message))
            return me.keepRemoving(writes, at: now.uptime)
        }
        me.removed(writes)
    }

    /// Ends the calls whose changes the server has stored, once the storage has no older ones.
    mutating func answerSaved() {
        for (call, reply) in me.profile.takeSaved() + me.choice.takeSaved() { answer(call, .success(reply)) }
    }

    /// The user starts or stops typing: it is sent on this connection, and on later ones while it lasts.
    mutating func type(_ conversation: ConversationID, _ isTyping: Bool, at now: Moment) {
        guard !isSignedOut else { return }
        connect(again: false, at: now)
        if isTyping {
            guard me.startTyping(in: conversation, at: now.uptime) else { return }
            sendIfConnected([Outgoing(.typing(conversation: conversation, typing: true), .typing(conversation))])
        } else {
            guard me.stopTyping(in: conversation) else { return }
            sendIfConnected([Outgoing(.typing(conversation: conversation, typing: false))])
        }
    }

    // MARK: Results

    /// Ends a call; only the first result counts.
    mutating func answer(_ id: CallID, _ result: Result<Reply, PresenceError>) {
        guard calls.end(id) else { return }
        lookups.end(id)
        emit(.answer(id, result))
    }

    /// Fails the calls of statuses that will not be sent any more.
    mutating func fail(_ statuses: [WriteLane<PendingStatus>.Part], _ error: PresenceError) {
        for status in statuses {
            var error = error
            error.outcomeUnknown = status.wasSent
            for call in status.calls { answer(call, .failure(error)) }
        }
    }

    mutating func timeOut(_ id: CallID) {
        var error = calls.lateness(of: id)
        if requests.isUnread(for: id) {
            error = PresenceError(.badRequest, "the server could not read a request, and did not answer this one")
        }
        error.outcomeUnknown = mayBeDone(id)
        answer(id, .failure(error))
    }

    mutating func cancel(_ id: CallID) {
        answer(id, .failure(PresenceError(.cancelled, "the task was cancelled", outcomeUnknown: mayBeDone(id))))
    }

    /// Whether the request of a call may have been carried out, or may still be, if the call ends now.
    private func mayBeDone(_ id: CallID) -> Bool {
        requests.mayChange(for: id) || me.choice.mayBeDone(for: id) || me.profile.mayBeDone(for: id)
            || calls.isRepeating(id)
    }

    // MARK: The end of the connection

    /// Handles a request in flight whose reply is lost. Lanes send theirs again.
    mutating func lose(_ request: Request) {
        let message = "the connection broke before the answer came"
        switch request {
        case .get(_, let calls): for call in calls { lookups.lose(call) }
        case .updateProfile(let changes, .queue, let call): queue(changes, for: call)
        case .readVisibility(_, let call): answer(call, .failure(PresenceError(.connectionLost, message)))
        case .createConversation(let creation, let call): calls.repeatLater(creation, call, due: .zero)
        case .updateProfile(_, .fail, let call), .changeVisibility(_, let call), .other(_, let call, _):
            answer(call, .failure(PresenceError(.connectionLost, message, outcomeUnknown: true)))
        case .connect, .status, .refresh, .subscribe, .subscribeConversation, .unsubscribe, .keptProfile, .typing,
            .ownVisibility, .probe:
            break
        }
    }

    /// Fails a request in flight when the user's data is dropped; nothing of it is kept.
    mutating func abandon(_ request: Request, _ error: PresenceError) {
        var unknown = error
        unknown.outcomeUnknown = true
        for id in calls.ids where request.changesSomething(for: id) { answer(id, .failure(unknown)) }
    }

    /// There is no connection, and none is expected soon.
    mutating func failWhatCannotWait() {
        for (id, call) in calls.takeDeferred() {
            if case .updateProfile(let changes, .queue) = call, link.flaw == nil {
                queue(changes, for: id)
            } else {
                answer(id, .failure(whyAway(for: call)))
            }
        }
        for id in calls.takePaced() { answer(id, .failure(link.whyAway)) }
        if link.isClosed {
            var error = link.whyAway
            error.outcomeUnknown = true
            for id in calls.repeating { answer(id, .failure(error)) }
        } else {
            me.choice.release(owner: me.writer)
        }
        for id in lookups.ids { askCacheInstead(id, because: link.whyAway) }
    }
}

extension Outgoing {
    static func updateProfile(_ changes: Wire.ProfileChanges, _ policy: PresenceClient.OfflinePolicy, _ call: CallID)
        -> Outgoing
    {
        Outgoing(.updateProfile(changes), .updateProfile(changes, policy, call))
    }
}
