import PresenceProtocol

/// Sessions whose connection was lost: they continue for `linger`, and end unless their user returns.
extension Sessions {
    /// A connection ended. With a final code, the user ended it, or the session is over anyway.
    package func lost(_ session: Session, lastHeard: Milliseconds, _ code: CloseCode, reason: String = "") {
        guard !session.hasEnded else { return }
        session.connection = nil
        session.lastHeard = lastHeard
        // The server's close is followed by the peer's: the first one counts.
        session.closing = session.closing ?? Closing(code: code, reason: reason)
        guard !code.isFinal else { return end(session) }
        let settings = shard.configuration
        // A silent loss is noticed late. The promised bound counts from the last thing received.
        let bound = lastHeard + settings.heartbeat.interval + settings.heartbeat.timeout + settings.linger
        shard.deadlines.set(.linger(session: session.number), at: min(shard.clock.now + settings.linger, bound))
    }

    func lingerOver(_ number: UInt64) {
        guard let session = byNumber[number], session.connection == nil else { return }
        // While Redis is unreachable, this shard cannot know whether the user is connected to another shard, which may
        // reach Redis later than this one does. (A session that was never stored can end at once.)
        guard shard.link.isLive || !session.mayBeStored else { return overdue.append(number) }
        end(session)
    }

    /// Redis is reachable again: sessions past their linger get another linger, so that other shards can first assert
    /// the users who connected to them.
    func lingerAgain() {
        for number in overdue where byNumber[number] != nil {
            shard.deadlines.set(.linger(session: number), at: shard.clock.now + shard.configuration.linger)
        }
        overdue = []
    }
}

extension CloseCode {
    /// A session whose connection is closed with this code ends at once, since its client will not resume it. 1005
    /// stands for a close without a code.
    var isFinal: Bool {
        [.normal, .init(rawValue: 1005), .policyViolation, .banned, .replaced, .disconnected].contains(self)
    }
}
