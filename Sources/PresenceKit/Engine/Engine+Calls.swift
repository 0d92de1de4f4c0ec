import PresenceProtocol

// What the app asks for, and waits for.
extension Engine {
    /// A call begins; its answer is a ``Directive/answer(_:_:)``.
    mutating func begin(_ id: CallID, _ call: Call, at now: Moment) {
        calls.begin(id, at: now.uptime)
        if let flaw = call.flaw { return answer(id, .failure(flaw)) }
        connect(again: false, at: now)
        switch call {
        case .get(let users): lookUp(users, id)
        // Whose it would be is not known: the next user's, if it were kept.
        case _ where isSignedOut: answer(id, .failure(.signedOut))
        // There will never be a connection to wait for.
        case _ where link.flaw != nil: answer(id, .failure(whyAway(for: call)))
        case .setStatus(let change): setStatus(PendingStatus(change, call: id, at: now.uptime), at: now)
        // What waits goes first, also if this process ends before it does.
        case .updateProfile(let changes, .queue) where link.isAway || me.profile.isBusy:
            queue(changes, for: id, at: now)
        case _ where link.isConnected: perform(id, call, at: now)
        case .updateProfile, .createConversation, .changeVisibility, .readVisibility, .other:
            if link.isAway {
                answer(id, .failure(whyAway(for: call)))
            } else {
                calls.wait(id, call)
            }
        }
    }

    /// What a call fails with that needs a connection. A library would take any other code than `notConnected` for the
    /// server's answer to its request.
    private func whyAway(for call: Call) -> PresenceError {
        let error = link.whyAway
        guard case .other = call, error.code != .notConnected else { return error }
        return PresenceError(.notConnected, "not connected: \(error)")
    }

    /// Does on the connection what can only be done there.
    mutating func perform(_ id: CallID, _ call: Call, at now: Moment) {
        switch call {
        case .updateProfile(let changes, .queue) where me.profile.isBusy: queue(changes, for: id, at: now)
        case _ where isOccupied(call.lane): calls.wait(id, call)
        case .updateProfile(let changes, let policy): send([.updateProfile(changes, policy, id)])
        case .createConversation(let creation): send([creation.message(for: id)])
        case .changeVisibility(let body): send(body, .changeVisibility(body, id))
        case .readVisibility: send(.getVisibility, .readVisibility(VisibilityLists(), id))
        case .other(let request): send([Outgoing(request, id)])
        case .get, .setStatus: preconditionFailure("\(call) does not wait for a connection")
        }
    }

    /// Whether a change of this lane is on its way, or is to go before any later one.
    private func isOccupied(_ lane: Lane?) -> Bool {
        lane.map { calls.occupies($0) || requests.occupies($0, calls.isWaiting) } ?? false
    }

    /// Sends what waited for the answers to what was asked before it.
    mutating func advance(at now: Moment) {
        // What is kept is older than what waits.
        if !requests.occupies(.profile, calls.isWaiting) { send(me.sendKept(at: now.uptime)) }
        for (id, call) in calls.takeDeferred() { perform(id, call, at: now) }
    }

    private mutating func setStatus(_ newer: PendingStatus, at now: Moment) {
        me.choice.forgetRefusal()
        if link.isConnected, !me.choice.isPostponed {
            send([newer.message(at: now.uptime)])
        } else if link.isClosed {
            answer(newer, .failure(link.whyAway))
        } else {
            me.choice.choose([newer])
            if link.isAway { me.releaseChoice(at: now) }
        }
    }

    /// Keeps a change of the profile; the call is answered when it is stored.
    mutating func queue(_ changes: Wire.ProfileChanges, for id: CallID, until uptime: Duration? = nil, at now: Moment) {
        let isStoring = me.keep(changes, for: id, at: now.wall, until: uptime)
        if !isStoring { answer(id, .success(.profile(.queued))) }
    }

    /// A write is in the storage, or cannot be.
    mutating func stored(_ write: String, _ call: CallID?, _ error: PresenceError?) {
        var error = error
        if let message = error?.message { emit(.log(.error, message)) }
        if let calls = me.choiceStored(write, error == nil) {
            // The choice is still made by this process, if that gets to it.
            error?.outcomeUnknown = true
            for call in calls { answer(call, error.map { .failure($0) } ?? .success(.queued)) }
            return
        }
        if error != nil {
            error?.outcomeUnknown = me.withdraw(write)
        } else {
            me.stored(write)
        }
        if let call { answer(call, error.map { .failure($0) } ?? .success(.profile(.queued))) }
    }

    /// Writes are out of the storage, or cannot be taken out.
    mutating func removed(_ writes: [String], _ error: PresenceError?, at now: Moment) {
        if let error {
            emit(.log(.error, error.message))
            return me.keepRemoving(writes, at: now.uptime)
        }
        me.removed(writes)
        answerSaved()
    }

    mutating func answerSaved() {
        for (call, profile) in me.profile.takeSaved() { answer(call, .success(.profile(.saved(profile)))) }
        for call in me.choice.takeSaved() { answer(call, .success(.done)) }
    }

    /// The user begins to type, or stops: it is said on this connection, and on the next one if it lasts.
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

    // MARK: Answers

    /// Ends a call; the first answer counts.
    mutating func answer(_ id: CallID, _ result: Result<Reply, PresenceError>) {
        guard calls.end(id) else { return }
        lookups.end(id)
        emit(.answer(id, result))
    }

    /// Ends the calls that wait for a status.
    mutating func answer(_ status: PendingStatus?, _ result: Result<Reply, PresenceError>) {
        status?.calls.forEach { answer($0, result) }
    }

    /// The same for a status that will not be sent any more.
    mutating func fail(_ status: PendingStatus?, _ error: PresenceError) {
        guard let status else { return }
        var error = error
        error.outcomeUnknown = status.wasSent
        answer(status, .failure(error))
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

    /// Whether what a call asks for may have been done, or may still be, if the call ends now.
    private func mayBeDone(_ id: CallID) -> Bool {
        requests.mayChange(for: id) || me.choice.mayBeDone(for: id) || me.profile.isSaved(id)
            || calls.isRepeating(id)
    }

    // MARK: When the connection ends

    /// What becomes of a request whose answer will not come; a status in it is chosen again.
    mutating func lose(_ request: Request, at now: Moment) {
        let message = "the connection broke before the answer came"
        switch request {
        case .get(_, let calls): for call in calls { lookups.lose(call) }
        case .updateProfile(let changes, .queue, let call): queue(changes, for: call, at: now)
        case .readVisibility(_, let call): answer(call, .failure(PresenceError(.connectionLost, message)))
        case .createConversation(let creation, let call): calls.repeatLater(creation, call, due: .zero)
        case .updateProfile(_, .fail, let call), .changeVisibility(_, let call), .other(_, let call, _):
            answer(call, .failure(PresenceError(.connectionLost, message, outcomeUnknown: true)))
        case .connect, .status, .refresh, .subscribe, .subscribeConversation, .unsubscribe, .keptProfile, .typing,
            .ownVisibility, .probe:
            break
        }
    }

    /// What becomes of a request in flight when all that belongs to the user is forgotten: nothing of it is kept.
    mutating func abandon(_ request: Request, _ error: PresenceError) {
        var unknown = error
        unknown.outcomeUnknown = true
        for id in calls.ids where request.changesSomething(for: id) { answer(id, .failure(unknown)) }
    }

    /// There is no connection and will be none soon.
    mutating func failWhatCannotWait(at now: Moment) {
        for (id, call) in calls.takeDeferred() {
            if case .updateProfile(let changes, .queue) = call, link.flaw == nil {
                queue(changes, for: id, at: now)
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
            me.releaseChoice(at: now)
        }
        for id in lookups.ids { askCacheInstead(id, because: link.whyAway) }
    }
}

extension Outgoing {
    static func updateProfile(_ changes: Wire.ProfileChanges, _ policy: OfflinePolicy, _ call: CallID) -> Outgoing {
        Outgoing(.updateProfile(changes), .updateProfile(changes, policy, call))
    }
}
