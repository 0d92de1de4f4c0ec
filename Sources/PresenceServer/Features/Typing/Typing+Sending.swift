import PresenceCore
import PresenceProtocol
import Redis

/// Sends the typing of this shard's users to Redis. A stop is repeated until Redis acknowledges it: otherwise shards
/// that read the conversation would show users who have become invisible.
extension Typing {
    /// The most conversations in which one session types at a time; older ones are dropped and expire.
    private static let mostConversations = 64
    /// The most stops that are kept; earlier ones expire without being sent.
    private static let mostStops = 10_000
    private static let stopPause: Milliseconds = 250

    struct Stop {
        let conversation: ConversationID
        let user: UserID
        let session: String
        /// The session's number on this shard.
        let number: UInt64
        /// When the typing expires anyway, on the monotonic clock.
        let until: Milliseconds

        init(_ session: Session, in conversation: ConversationID, until: Milliseconds) {
            self.conversation = conversation
            user = session.user.id
            self.session = session.id
            number = session.number
            self.until = until
        }
    }

    /// - Parameter done: gets the reply of Redis, or `nil` if Redis was not asked.
    func set(
        _ isTyping: Bool, in conversation: ConversationID, by session: Session,
        done: @escaping (Result<RedisValue, RedisFailure>?) -> Void
    ) {
        // An invisible user is never shown typing.
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
            // A failed stop is repeated: otherwise the user could be shown typing after becoming invisible.
            return send(Stop(session, in: conversation, until: shard.clock.now + expiry), done: done)
        }
        shard.unlessRevoked(Writer(session), done: done) { [self] in
            // If two users block each other, neither is shown typing.
            talks.isBlocked(session.user.id, in: conversation) { [self] result in
                if case .failure(let failure) = result { return done(.failure(failure)) }
                if case .success(true) = result { return done(nil) }
                begin(in: conversation, by: session, done: done)
            }
        }
    }

    private func begin(
        in conversation: ConversationID, by session: Session,
        done: @escaping (Result<RedisValue, RedisFailure>?) -> Void
    ) {
        // Meanwhile the session may have ended, or its user become invisible.
        guard typingSessions[session.number]?[conversation] != nil else { return done(nil) }
        store(true, in: conversation, by: session.user.id, session.id) { [self] result in
            // Redis counts from its receipt of the command, which may be much later than the request.
            typingSessions[session.number]?[conversation]? = shard.clock.now
            done(result)
        }
    }

    /// The session ended, or its user became invisible.
    func stop(_ session: Session) {
        guard let typing = typingSessions.removeValue(forKey: session.number) else { return sendStops() }
        for (conversation, since) in typing.sorted(by: { $0.key < $1.key }) {
            guard shard.clock.now - since < expiry else { continue }
            keep(Stop(session, in: conversation, until: since + expiry))
        }
        sendStops()
    }

    /// Sends stops, repeatedly until Redis takes them, they expire anyway, or the user types again.
    func sendStops() {
        guard !stops.isEmpty, shard.link.isLive else { return }
        let telling = stops
        stops = []
        for stop in telling where isPending(stop) { send(stop) { _ in } }
    }

    private func send(_ stop: Stop, done: @escaping (Result<RedisValue, RedisFailure>) -> Void) {
        store(false, in: stop.conversation, by: stop.user, stop.session) { [self] result in
            if !isSettled(result), isPending(stop) {
                // While the shard is not live, nothing is sent: it is sent once the shard is live again.
                if stops.isEmpty { shard.deadlines.set(retries, at: shard.clock.now + Self.stopPause) }
                keep(stop)
                shard.metrics.storeRetries += 1
            }
            done(result)
        }
    }

    /// Whether Redis has accepted the stop, or never will.
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

    private func store(
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
