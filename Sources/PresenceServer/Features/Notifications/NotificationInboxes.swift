import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// Connections that watch their user's notifications, and what must still be written to each.
///
/// Guarantee: a connection's state is Redis' state of some version, and reaches the newest version. For a connection that reads
/// nothing, some frames are kept, and later only the version and the seq up to which it was written to: a script brings it up
/// to date from there. After a break the same is done for all connections.
final class NotificationInboxes {
    private unowned let shard: ShardLogic
    private var message: OwnMessages = []
    private var retry: DeadlineKind!
    private var catchUps: MetricCounter!
    private var users = OwnSubscribers<Subscriber>()
    /// Bytes of frames that one connection keeps.
    private static let mostBytes = 64 * 1024
    /// This many of the newest notifications are shown, and all unseen ones.
    static let shown = 50
    /// The pause before a failed reading is repeated, in ms; a damaged record waits for an operator.
    private static let pause: Milliseconds = 1_000
    private static let pauseOfDamage: Milliseconds = 60_000

    init(_ shard: ShardLogic) {
        self.shard = shard
        shard.onExcess.append { [unowned self] in letGo($0) }
    }

    func register(in registry: inout Registry) {
        registry.sessionEnded.append { [unowned self] in users.ended($0) }
        message = registry.ownMessage { [unowned self] in frames(for: $0) }
        registry.event("I", offers: true) { [unowned self] in handle($0) }
        retry = registry.deadline { [unowned self] key in
            guard case .id(let user) = key else { return }
            for subscriber in users[user] ?? [] where subscriber.isBehind { mark(subscriber) }
        }
        registry.gauge(
            "notification_inboxes", help: "connections that watch their user's notifications"
        ) { [unowned self] in users.count }
        registry.gauge(
            "notification_bytes", help: "bytes of notifications kept for connections that do not take them"
        ) { [unowned self] in users.all.reduce(0) { $0 + $1.bytes } }
        catchUps = registry.counter(
            "notification_catchups_total",
            help: "times that a connection was behind its user's notifications, and they were read for it")
    }

    // MARK: Subscribing

    /// From now on changes are noted for the connection; they are written once it is `ready`.
    func begin(_ connection: Connection, _ user: UserID) -> Subscriber {
        let subscriber = Subscriber(connection, user, shard.outboxes)
        users.begin(subscriber)
        return subscriber
    }

    /// Answers the subscription with this reading.
    func ready(_ subscriber: Subscriber, _ reading: NotificationReading) {
        guard users.ready(subscriber) else { return }
        subscriber.announced = Place(version: reading.counts.version, seq: reading.last)
        subscriber.written = subscriber.announced
        mark(subscriber)
    }

    func cancel(_ subscriber: Subscriber) { users.cancel(subscriber) }
    func unsubscribe(_ connection: Connection) { users.unsubscribe(connection) }

    /// Reads a user's notifications.
    ///
    /// - Parameter announced: The place up to which the reader has the notifications: of these only the numbers are read.
    func read(
        _ user: UserID, version: Int64 = 0, announced seq: Int64 = 0
    ) async throws(RedisFailure) -> NotificationReading {
        do throws(RedisFailure) {
            let call = reading(of: user, count: Int64(Self.shown), version: version, announced: seq)
            if let reading = NotificationReading(try await shard.reply(to: call)) { return reading }
            throw .server(code: "ERR", message: "an answer that makes no sense")
        } catch {
            if error.isLasting { shard.recordDamage("notifications", of: user) }
            throw error
        }
    }

    /// The script that reads the newest notifications, or those before a seq.
    func reading(
        of user: UserID, count: Int64, version: Int64 = 0, announced: Int64 = 0, before: Int64 = 0
    ) -> ScriptCall {
        let keys = shard.partitions.keys(of: user)
        return ScriptCall(
            .readNotifications, in: keys, keys.inboxOfNotifications(user),
            [
                "user": user, "keep": shard.configuration[Notifications.keep],
                "keepFor": shard.configuration[Notifications.keepFor], "count": count, "version": version,
                "told": announced, "before": before,
            ])
    }

    // MARK: Changes

    private func handle(_ event: StoreEvent) {
        guard !users.isEmpty, let user = event.subject, let subscribers = users[user] else { return }
        guard let news = NotificationEvent(event) else { return }
        let frame = WebSocketFrame.text(news.message)
        for subscriber in subscribers where !subscriber.connection.isClosed {
            notify(subscriber, news, frame)
        }
    }

    private func notify(_ subscriber: Subscriber, _ news: NotificationEvent, _ frame: [UInt8]) {
        let version = news.counts.version
        guard subscriber.isReady, !subscriber.isBehind, !subscriber.isReading else {
            subscriber.wanted = max(subscriber.wanted, version)
            return
        }
        guard version > subscriber.announced.version else { return }
        guard news.previous <= subscriber.announced.version else {
            // An event was lost, and the shard has not noticed the break yet.
            subscriber.wanted = version
            return mark(subscriber)
        }
        subscriber.announced.version = version
        subscriber.announced.seq = max(subscriber.announced.seq, news.seq)
        // The answer to its request contains the change.
        if news.session == subscriber.connection.session?.id { return mark(subscriber) }
        if subscriber.bytes + frame.count > Self.mostBytes {
            subscriber.fallBehind(version)
        } else {
            subscriber.frames.append(frame)
            subscriber.bytes += frame.count
        }
        mark(subscriber)
    }

    /// Too much output waits: the connections with most are behind from now on.
    private func letGo(_ excess: Int) -> Int {
        users.letGo(excess) { subscriber in
            subscriber.fallBehind(subscriber.announced.version)
            mark(subscriber)
        }
    }

    /// A request of the connection was not answered, but may have been carried out: its event was not written.
    func doubt(_ connection: Connection) {
        guard let user = connection.session?.user.id else { return }
        for subscriber in users[user] ?? [] where subscriber.connection === connection {
            subscriber.isInDoubt = true
            mark(subscriber)
        }
    }

    // MARK: Writing

    private func mark(_ subscriber: Subscriber) {
        if subscriber.isReady { shard.watchers.markMail(subscriber.connection, message) }
    }

    /// Called when the connection accepts data.
    private func frames(for connection: Connection) -> [UInt8] {
        guard let subscriber = users[connection] else { return [] }
        let frames = Array(subscriber.frames.joined())
        (subscriber.frames, subscriber.bytes, subscriber.written) = ([], 0, subscriber.announced)
        if subscriber.isBehind { shard.tasks.run { [self] in try? await catchUp(subscriber, isTaking: true) } }
        return frames
    }

    /// A reading is sent like an answer: if Redis makes a mark of this connection after the reading, the mark is
    /// answered after it.
    ///
    /// - Parameter isTaking: Whether the connection accepts the reading, however long it is.
    private func catchUp(_ subscriber: Subscriber, isTaking: Bool) async throws(RedisFailure) {
        guard !subscriber.isReading else { return }
        subscriber.fallBehind(0)
        subscriber.isReading = true
        subscriber.isInDoubt = false
        catchUps.value += 1
        defer { subscriber.isReading = false }
        let (user, announced) = (subscriber.user, subscriber.announced)
        do throws(RedisFailure) {
            let reading = try await read(user, version: announced.version, announced: announced.seq)
            if !subscriber.connection.isClosed { apply(reading, subscriber, isTaking: isTaking) }
        } catch {
            guard !subscriber.connection.isClosed else { return }
            subscriber.isInDoubt = true
            let pause = error.isLasting ? Self.pauseOfDamage : Self.pause
            shard.deadlines.set(retry, .id(user), at: shard.clock.now + pause)
            // A damaged record must not keep everything else stale.
            if !error.isLasting { throw error }
        }
    }

    private func apply(_ reading: NotificationReading, _ subscriber: Subscriber, isTaking: Bool) {
        defer { mark(subscriber) }
        // The connection has subscribed again meanwhile.
        guard reading.counts.version >= subscriber.announced.version, subscriber.isReady else { return }
        let messages = reading.messages(after: subscriber.announced.seq)
        guard isTaking || messages.reduce(0, { $0 + $1.count }) <= Self.mostBytes else {
            subscriber.isInDoubt = true
            return
        }
        subscriber.announced = Place(version: reading.counts.version, seq: max(subscriber.announced.seq, reading.last))
        subscriber.written = subscriber.announced
        for message in messages { shard.replies.send(message, to: subscriber.connection) }
    }

    // MARK: After a break

    /// Events may have been missed.
    func readAgain() async throws(RedisFailure) {
        let open = users.all.filter { !$0.connection.isClosed }
        for subscriber in open { subscriber.isInDoubt = true }
        try await shard.tasks.each(open.filter(\.isReady), window: 64) { [self] (subscriber) throws(RedisFailure) in
            try await catchUp(subscriber, isTaking: false)
        }
    }
}
