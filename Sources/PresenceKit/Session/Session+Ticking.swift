import PresenceProtocol

// What happens because time passes.
extension Session {
    /// The uptime of the next ``Input/tick``; it may come late, never early.
    var nextDeadline: Duration? {
        var earliest: Duration?
        func consider(_ deadline: Duration?) {
            guard let deadline else { return }
            earliest = min(earliest ?? deadline, deadline)
        }
        switch phase {
        case .fetchingToken(let until), .dialling(let until), .introducing(let until): consider(until)
        case .waiting(let until, _, _): consider(until)
        case .connected:
            consider(hasPinged ? heartbeatDeadlines.death : heartbeatDeadlines.ping)
            consider(refreshAt)
            consider(ownTyping.nextDue)
            consider(profileQueue.retryAt)
            for again in repeats.values { consider(again.due) }
            for case .probe(let due) in requests.values { consider(due) }
        case .idle, .closed: break
        }
        callDeadlines.values.forEach { consider($0) }
        for user in unsettledPeople { consider(people[user]?.watch.nextDeadline(whileConnected: isConnected)) }
        for id in unsettledConversations {
            consider(conversations[id]?.watch.nextDeadline(whileConnected: isConnected))
        }
        return earliest
    }

    mutating func hear(at now: Moment) {
        lastHeard = now.uptime
        hasPinged = false
    }

    /// When a sign of life is asked for, and when it is given up.
    var heartbeatDeadlines: (ping: Duration, death: Duration) {
        (lastHeard + heartbeat.interval + heartbeat.timeout / 2, lastHeard + heartbeat.interval + heartbeat.timeout)
    }

    mutating func tick(at now: Moment) {
        switch phase {
        case .fetchingToken(let until):
            if until <= now.uptime { end(.noToken(.slowToken(configuration)), at: now) }
        case .dialling(let until), .introducing(let until):
            if until <= now.uptime { hangUp(.lost("no connection within \(configuration.connectTimeout)"), at: now) }
        case .waiting(let until, _, _):
            if until <= now.uptime { start(at: now) }
        case .connected:
            tickConnected(at: now)
        case .idle, .closed: break
        }
        let late = callDeadlines.filter { $0.value <= now.uptime }.keys.sorted()
        for id in late { timeOut(id) }
    }

    private mutating func tickConnected(at now: Moment) {
        let deadlines = heartbeatDeadlines
        if deadlines.death <= now.uptime { return hangUp(.silent, at: now) }
        for case .probe(let due) in requests.values where due <= now.uptime {
            return reconnectNow(at: now)
        }
        if deadlines.ping <= now.uptime, !hasPinged {
            hasPinged = true
            say(.ping)
        }
        if let refreshAt, refreshAt <= now.uptime {
            self.refreshAt = nil
            fetchForRefresh()
        }
        for conversation in ownTyping.takeDue(at: now.uptime) {
            send(.typing(conversation: conversation, typing: true), .typing(conversation, call: nil))
        }
        sendKeptProfile(at: now)
        sendRepeats(at: now)
    }

    /// Ends the connection from this side, as one that is broken.
    mutating func hangUp(_ ending: Ending, at now: Moment) {
        say(.abort)
        end(ending, at: now)
    }
}

extension Watch {
    fileprivate func nextDeadline(whileConnected isConnected: Bool) -> Duration? {
        if loops == 0 { return leavesAt }
        if isConnected, case .later(let uptime) = stage { return uptime }
        return nil
    }
}

extension PresenceError {
    fileprivate static func slowToken(_ configuration: PresenceClient.Configuration) -> PresenceError {
        PresenceError(.tokenUnavailable, "the token provider did not answer within \(configuration.tokenTimeout)")
    }
}
