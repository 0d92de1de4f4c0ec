import PresenceProtocol

// How the connection begins and ends, and what becomes of its requests.
extension Engine {
    /// Connects unless it is under way; after a closing only when the app asks (`again`).
    mutating func connect(again: Bool, at now: Moment) {
        guard link.accepts(connect: again) else { return }
        if let flaw = link.flaw { return close(flaw, at: now) }
        if link.isClosed { problemChanged() }
        emit(link.start(at: now))
    }

    /// The token provider has answered.
    mutating func tokenFetched(_ token: Result<String, PresenceError>, at now: Moment) {
        if case .success(let token) = token, !link.isConnected { me.identify(as: TokenSubject.user(of: token)) }
        if link.isConnected { return send(link.refresh(with: token)) }
        guard case .fetchingToken = link.phase else { return }
        switch token {
        case .success(let token): emit(link.dial(with: token, at: now))
        case .failure(let error): end(.noToken(error), at: now)
        }
    }

    /// The transport is open.
    mutating func opened(at now: Moment) {
        guard link.opened(at: now) else { return }
        introduce(with: me.choice.take(), at: now)
    }

    /// The status is sent with `connect`, so that other users see no other one first.
    private mutating func introduce(with status: PendingStatus?, at now: Moment) {
        let connect = ClientMessage.Connect(
            token: link.token, device: link.device, activity: me.activity, status: status?.change(at: now.uptime))
        send(.connect(connect), .connect(me.activity, status))
    }

    mutating func connected(_ id: Int64?, _ connected: ServerMessage.Connected, at now: Moment) {
        guard case .introducing = link.phase, let id, case .connect(let toldActivity, let toldStatus) = requests[id]
        else { return }
        _ = requests.take(id)
        if let toldStatus { me.acknowledge(toldStatus) }
        if let former = me.id, former != connected.user {
            // Whom an earlier process belonged to says nothing about what was asked for in this one.
            answerSaved()
            if me.isRecalled { forgetRecalled(at: now) } else { forget(at: now) }
        }
        link.connected(connected, at: now)
        if let status = connected.status { me.hold(status) }
        watchlist.unsettle()
        send(me.begin(as: connected.user, toldOf: toldActivity, toldStatus, at: now))
        // Not before it is known what an earlier process left, and what of that is in the storage yet.
        answerSaved()
        observeMe(at: now)
        for (id, call) in calls.takeDeferred() { perform(id, call, at: now) }
        send(calls.takeRepeats(at: now.uptime))
        emit(.tell(.connected(user: connected.user.string)))
    }

    /// The server refused `connect`.
    mutating func refuseConnect(_ status: PendingStatus?, _ error: PresenceError, at now: Moment) {
        let isAboutStatus = error.field == "status" || error.field?.hasPrefix("status.") == true
        if isAboutStatus, let status {
            refuse(status, error)
            return introduce(with: nil, at: now)
        }
        if let status { me.choice.choose([status]) }
        link.reject(error)
        // After `unauthorized` the server closes by itself, with a code.
        if error.code != .unauthorized { hangUp(.rejected(error), at: now) }
    }

    // MARK: The end

    /// Ends the connection from this side, as one that is broken.
    mutating func hangUp(_ ending: Ending, at now: Moment) {
        emit(.abort)
        end(ending, at: now)
    }

    /// The connection, or the attempt to make one, is over.
    mutating func end(_ ending: Ending, at now: Moment) {
        guard link.isUnderWay else { return }
        if case .closed(code: .messageTooBig, _) = ending {
            // One of them it was: sent again, it would end every connection.
            let error = PresenceError(.tooMany, "the server does not take a message as long")
            for request in requests.takeKept() { refuse(request, error, at: now) }
        }
        drop(at: now)
        switch link.end(ending, at: now) {
        case .again: failWhatCannotWait(at: now)
        case .never(let error): finish(error, at: now)
        }
    }

    /// Makes no further attempt until the app asks.
    mutating func close(_ error: PresenceError?, at now: Moment) {
        drop(at: now)
        finish(error, at: now)
    }

    private mutating func finish(_ error: PresenceError?, at now: Moment) {
        link.close(error)
        problemChanged()
        failWhatCannotWait(at: now)
        fail(me.choice.close(), link.whyAway)
    }

    /// The client closed, or opens again: all loops say so.
    private mutating func problemChanged() {
        watchlist.problemChanged()
        me.problemChanged()
    }

    /// Whatever belonged to the connection goes: what is shown becomes stale, requests fail or wait to be repeated. With
    /// `abandoning` all requests fail with that error.
    mutating func drop(at now: Moment, abandoning error: PresenceError? = nil) {
        let date = link.lastTruth(at: now)
        watchlist.lose(at: date)
        if link.isConnected { me.lose(at: date) }
        link.drop()
        me.requeue()
        let lost = requests.takeAll()
        if let error {
            for request in lost { abandon(request, error) }
        } else {
            me.choice.choose(lost.compactMap(\.status))
            for request in lost { lose(request, at: now) }
        }
    }

    /// Leaves without the server taking it for a goodbye, and comes back at once.
    mutating func reconnect(at now: Moment) {
        switch link.phase {
        case .idle, .closed, .fetchingToken: return
        case .dialling, .introducing, .connected:
            emit(.abort)
            drop(at: now)
        case .waiting: break
        }
        link.resetAttempts()
        emit(link.start(at: now))
    }

    /// Whether there is a network: without one no attempt is made for a while, with one at once.
    mutating func network(_ isThere: Bool, at now: Moment) {
        if isThere {
            if case .waiting = link.phase { reconnect(at: now) }
        } else if link.isUnderWay {
            if link.hasTransport { emit(.abort) }
            emit(.cancelFetch)
            drop(at: now)
            link.wait(for: Self.networkWait, because: PresenceError(.notConnected, "there is no network"), at: now)
            failWhatCannotWait(at: now)
        }
    }

    /// How long the system is trusted when it says that there is no network.
    private static let networkWait = Duration.seconds(30)

    /// The app leaves.
    mutating func disconnect(at now: Moment) {
        sayGoodbye()
        close(nil, at: now)
    }

    /// What was sent before still goes out.
    mutating func sayGoodbye() {
        sendIfConnected([Outgoing(.disconnect)])
        if link.hasTransport { emit(.close) }
    }

    // MARK: The app's life

    /// The app went to the background.
    mutating func background() {
        sendIfConnected(me.background())
        watchlist.cacheConfirmed()
    }

    /// The app is in front again: a connection is asked whether it lives, waiting for one ends.
    mutating func foreground(at now: Moment) {
        me.foreground()
        switch link.phase {
        case .connected:
            if link.heartbeat.death <= now.uptime { return reconnect(at: now) }
            let due = now.uptime + min(link.heartbeat.timeout, .seconds(5))
            send(.activity(.active), .probe(due: due))
        case .waiting: reconnect(at: now)
        case .idle, .fetchingToken, .dialling, .introducing, .closed: break
        }
    }
}
