import PresenceProtocol

/// Sessions whose connection was lost: they go on for `linger`, and end when nobody has come back by then.
extension Sessions {
    /// A connection ended. With a final code its user meant it, or the session has ended elsewhere.
    package func lost(_ session: Session, lastHeard: Milliseconds, _ code: CloseCode, reason: String = "") {
        guard !session.hasEnded else { return }
        session.connection = nil
        session.lastHeard = lastHeard
        // A close by the server is followed by the peer's.
        session.closing = session.closing ?? Closing(code: code, reason: reason)
        guard !code.isFinal else { return end(session) }
        let settings = shard.configuration
        // A silent loss was noticed late already; the promised bound counts from the last thing received.
        let bound = lastHeard + settings.heartbeat.interval + settings.heartbeat.timeout + settings.linger
        shard.deadlines.set(.linger(session: session.number), at: min(shard.clock.now + settings.linger, bound))
    }

    func lingerOver(_ number: UInt64) {
        guard let session = byNumber[number], session.connection == nil else { return }
        // Out of sight of the truth nobody here can know whether its user is back elsewhere; and if they are, the shard
        // that has them may tell Redis after we do. (A session that Redis never held can end at once.)
        guard shard.link.isLive || !session.mayBeStored else { return overdue.append(number) }
        end(session)
    }

    /// The truth is in sight again: sessions past their linger get it once more, for the other shards to say who came
    /// back to them.
    func lingerAgain() {
        for number in overdue where byNumber[number] != nil {
            shard.deadlines.set(.linger(session: number), at: shard.clock.now + shard.configuration.linger)
        }
        overdue = []
    }
}

extension CloseCode {
    /// A session whose connection is closed with it ends at once: nobody is expected back. 1005 stands for a close without a
    /// code.
    var isFinal: Bool { [.normal, .init(rawValue: 1005), .policyViolation, .replaced, .disconnected].contains(self) }
}
