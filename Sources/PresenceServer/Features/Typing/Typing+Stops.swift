import PresenceCore
import PresenceProtocol
import Redis

/// What our own users type, as Redis is told. That somebody stopped is told until Redis acknowledges it: who becomes
/// invisible is shown by every shard that reads what Redis holds.
extension Typing {
    /// Conversations in which one session types at a time; what is older is forgotten, and runs out.
    private static let mostConversations = 64
    /// More stops than this are left to run out by themselves.
    private static let mostStops = 10_000
    private static let stopPause: Milliseconds = 250

    struct Stop {
        let conversation: ConversationID
        let user: UserID
        let session: String
        /// The session's number on this shard.
        let number: UInt64
        /// When it runs out by itself, on the monotonic clock.
        let until: Milliseconds

        init(_ session: Session, in conversation: ConversationID, until: Milliseconds) {
            self.conversation = conversation
            user = session.user.id
            self.session = session.id
            number = session.number
            self.until = until
        }
    }

    /// `done` gets what Redis answered, or `nil` where there was nothing to ask.
    func set(
        _ isTyping: Bool, in conversation: ConversationID, by session: Session,
        done: @escaping (Result<RedisValue, RedisFailure>?) -> Void
    ) {
        // Someone invisible is never shown typing.
        if isTyping, session.user.chosen?.status == .invisible { return done(nil) }
        var typing = typingSessions[session.number] ?? [:]
        if isTyping {
            if typing.count >= Self.mostConversations, let oldest = typing.min(by: { $0.value < $1.value })?.key {
                typing[oldest] = nil
            }
            typing[conversation] = shard.clock.now
        } else {
            typing[conversation] = nil
        }
        typingSessions[session.number] = typing.isEmpty ? nil : typing
        guard isTyping else {
            // What is not taken is told again: else they could be shown typing after they have become invisible.
            return tell(Stop(session, in: conversation, until: shard.clock.now + expiry), done: done)
        }
        shard.unlessRevoked(Writer(session), done: done) { [self] in
            // Of two who block each other neither is shown typing.
            talks.isBlocked(session.user.id, in: conversation) { [self] result in
                if case .failure(let failure) = result { return done(.failure(failure)) }
                if case .success(true) = result { return done(nil) }
                // It may have ended, or its user become invisible, while that was asked.
                guard typingSessions[session.number]?[conversation] != nil else { return done(nil) }
                say(true, in: conversation, by: session.user.id, session.id) { [self] result in
                    // Redis counts from when it heard, which may be much later than this was said.
                    typingSessions[session.number]?[conversation]? = shard.clock.now
                    done(result)
                }
            }
        }
    }

    /// The session ended, or its user became invisible.
    func stop(_ session: Session) {
        guard let typing = typingSessions.removeValue(forKey: session.number) else { return tellStops() }
        for (conversation, since) in typing.sorted(by: { $0.key < $1.key }) {
            guard shard.clock.now - since < expiry else { continue }
            keep(Stop(session, in: conversation, until: since + expiry))
        }
        tellStops()
    }

    /// Tells Redis that some have stopped, again and again until it takes that, their time is over anyway, or they type again.
    func tellStops() {
        guard !stops.isEmpty, shard.link.isLive else { return }
        let telling = stops
        stops = []
        for stop in telling where isPending(stop) { tell(stop) { _ in } }
    }

    private func tell(_ stop: Stop, done: @escaping (Result<RedisValue, RedisFailure>) -> Void) {
        say(false, in: stop.conversation, by: stop.user, stop.session) { [self] result in
            if !isSettled(result), isPending(stop) {
                // While the shard is not live nothing is told: it is when the shard is live again.
                if stops.isEmpty { shard.deadlines.set(retries, at: shard.clock.now + Self.stopPause) }
                keep(stop)
                shard.metrics.storeRetries += 1
            }
            done(result)
        }
    }

    /// Whether Redis has taken it, or never will.
    private func isSettled(_ result: Result<RedisValue, RedisFailure>) -> Bool {
        switch result {
        case .success(let value): value.array?.first?.string != "FENCED"
        case .failure(let failure): failure.isLasting
        }
    }

    private func isPending(_ stop: Stop) -> Bool {
        stop.until > shard.clock.now && typingSessions[stop.number]?[stop.conversation] == nil
    }

    private func keep(_ stop: Stop) {
        if stops.count >= Self.mostStops { stops.removeFirst() }
        stops.append(stop)
    }

    private func say(
        _ isTyping: Bool, in conversation: ConversationID, by user: UserID, _ session: String,
        done: @escaping (Result<RedisValue, RedisFailure>) -> Void
    ) {
        let keys = shard.partitions.keys(of: conversation)
        let call = ScriptCall(
            .typing, in: keys,
            ["conversation": keys.conversation(conversation), "typing": keys.typing(conversation)],
            [
                "conversation": conversation, "user": user, "sessionId": session, "isTyping": isTyping,
                "expiry": expiry,
            ])
        shard.run(call) { [self] result in
            shard.link.noticeFencing(in: result)
            done(result)
        }
    }
}
