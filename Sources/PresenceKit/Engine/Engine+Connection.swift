import PresenceProtocol

// The start and the end of the connection, and its pending requests.
extension Engine {
    /// Connects unless an attempt or a connection exists; after a closing only if the app asks (`again`).
    mutating func connect(again: Bool, at now: Moment) {
        guard link.accepts(connect: again) else { return }
        if let flaw = link.flaw { return close(flaw, at: now) }
        if link.isClosed { problemChanged() }
        emit(link.start(at: now))
    }

    /// The token provider has returned.
    mutating func tokenFetched(_ token: Result<String, PresenceError>, at now: Moment) {
        if !link.isConnected {
            if case .success(let token) = token { identify(by: token, at: now) }
            identify(at: now)
        }
        if link.isConnected { return send(link.refresh(with: token)) }
        guard case .fetchingToken = link.phase else { return }
        switch token {
        case .success(let token): emit(link.dial(with: token, at: now))
        case .failure(let error): end(.noToken(error), at: now)
        }
    }

    /// The next connection uses this token. If it names another user, the data and calls of the former one are dropped,
    /// except pending writes.
    private mutating func identify(by token: String, at now: Moment) {
        let user = TokenSubject.user(of: token) ?? (token == link.confirmedToken ? me.account : nil)
        if let user, let former = me.account, former != user { forget(at: now, next: user) }
        me.identify(as: user)
    }

    /// The user is known, or waiting longer would delay the first screen. Another user's data is dropped, except pending
    /// writes: only the server can confirm that the user changed.
    mutating func identify(at now: Moment) {
        if me.isRecalled, let account = me.account, account != me.id {
            forgetRecalled(at: now)
        }
        isIdentified = true
        emit(.tell(.identified(user: me.account?.string)))
    }

    /// The transport is open.
    mutating func opened(at now: Moment) {
        guard link.opened(at: now) else { return }
        // The token may have been fetched to refresh the former connection.
        if let token = link.token { identify(by: token, at: now) }
        introduce(with: me.choice.take(at: now.uptime), at: now)
    }

    /// Sends the status with `connect`, so that other users see no other status first.
    private mutating func introduce(with status: WriteLane<PendingStatus>.Sending?, at now: Moment) {
        let connect = ClientMessage.Connect(
            token: link.token, device: link.device, activity: me.activity, status: status?.body.change(at: now.uptime))
        send(.connect(connect), .connect(me.activity, status?.ticket))
    }

    mutating func connected(_ id: Int64?, _ connected: ServerMessage.Connected, at now: Moment) {
        guard case .introducing = link.phase, let id, case .connect(let toldActivity, let toldStatus) = requests[id]
        else { return }
        _ = requests.take(id)
        let told = toldStatus.flatMap { me.choice.acknowledge($0) }
        if let former = me.id, former != connected.user {
            // The owner of an earlier process's storage does not affect calls made in this process.
            if me.isRecalled { forgetRecalled(at: now) } else { forget(at: now) }
        }
        link.connected(connected, at: now)
        if let status = connected.status { me.hold(status) }
        watchlist.unsettle()
        send(me.begin(as: connected.user, toldOf: toldActivity, told, at: now.uptime))
        observeMe(at: now)
        advance(at: now)
        send(calls.takeRepeats(at: now.uptime))
        emit(.tell(.connected(user: connected.user.string)))
    }

    /// The server rejected `connect`.
    mutating func refuseConnect(_ status: WriteLane<PendingStatus>.Ticket?, _ error: PresenceError, at now: Moment) {
        let isAboutStatus = error.field == "status" || error.field?.hasPrefix("status.") == true
        if isAboutStatus, let status {
            refuse(status, error)
            return introduce(with: nil, at: now)
        }
        if let status { me.choice.requeue(status) }
        link.reject(error)
        // After `unauthorized` the server closes the connection itself, with a close code.
        if error.code != .unauthorized { hangUp(.rejected(error), at: now) }
    }

    // MARK: The end

    /// Ends the connection from this side, as a broken one.
    mutating func hangUp(_ ending: Ending, at now: Moment) {
        emit(.abort)
        end(ending, at: now)
    }

    /// The connection or the attempt has ended.
    mutating func end(_ ending: Ending, at now: Moment) {
        guard link.isUnderWay else { return }
        if case .closed(code: .messageTooBig, _) = ending {
            // One of the requests caused the close. If it were sent again, it would end every later connection as well.
            let error = PresenceError(.tooMany, "the server does not accept messages of this length")
            for request in requests.takeKept() { refuse(request, error, at: now) }
        }
        drop(at: now)
        switch link.end(ending, at: now) {
        case .again: failWhatCannotWait()
        case .never(let error): finish(error, at: now)
        }
    }

    /// Makes no further attempt until the app asks for one.
    mutating func close(_ error: PresenceError?, at now: Moment) {
        drop(at: now)
        finish(error, at: now)
    }

    private mutating func finish(_ error: PresenceError?, at now: Moment) {
        link.close(error)
        if !isIdentified { identify(at: now) }
        problemChanged()
        failWhatCannotWait()
        fail(me.choice.close(), link.whyAway)
    }

    /// The client closed or opens again: all observers get an element with the new problem.
    private mutating func problemChanged() {
        watchlist.problemChanged()
        me.problemChanged()
    }

    /// Drops the state of the connection: shown values become stale, requests fail or wait to be repeated. With
    /// `abandoning`, all requests fail with that error.
    mutating func drop(at now: Moment, abandoning error: PresenceError? = nil) {
        let date = link.lastTruth(at: now)
        watchlist.lose(at: date)
        if link.isConnected { me.lose(at: date) }
        link.drop()
        me.requeue()
        let lost = requests.takeAll()
        for request in lost {
            if let error { abandon(request, error) } else { lose(request) }
        }
    }

    /// Ends the connection without a goodbye and reconnects at once.
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

    /// Handles a change of the network: without a network no attempt is made for a while, with one an attempt starts at
    /// once.
    mutating func network(_ isThere: Bool, at now: Moment) {
        if isThere {
            if case .waiting = link.phase { reconnect(at: now) }
        } else if link.isUnderWay {
            if link.hasTransport { emit(.abort) }
            emit(.cancelFetch)
            drop(at: now)
            link.wait(for: Self.networkWait, because: PresenceError(.notConnected, "there is no network"), at: now)
            failWhatCannotWait()
        }
    }

    /// How long the system is believed when it reports that there is no network.
    private static let networkWait = Duration.seconds(30)

    /// The app disconnects.
    mutating func disconnect(at now: Moment) {
        sendDisconnect()
        close(nil, at: now)
    }

    /// Data that was already sent is still delivered.
    mutating func sendDisconnect() {
        sendIfConnected([Outgoing(.disconnect)])
        if link.hasTransport { emit(.close) }
    }

    // MARK: The app's lifecycle

    /// The app entered the background.
    mutating func background() {
        sendIfConnected(me.background())
        watchlist.cacheConfirmed()
    }

    /// The app is in the foreground again: an open connection is probed, and a wait for the next attempt ends.
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
