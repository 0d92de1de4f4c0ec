import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// Connections that watch the list of their user's conversations, and the pending changes of each.
///
/// Only the newest state of a conversation counts, so for a connection that cannot be written to, or is in the
/// background, one entry is kept for each changed conversation. If the entries' frames become too large, only ids are
/// kept, and the conversations are read when it is their turn.
///
/// A change sends the whole conversation to all members, so a message to N members, and each mark, costs the square of
/// N. Conversations with many members are therefore sent at a pace that depends on their size (`CrowdPace`), in their
/// newest state.
final class ConversationLists {
    unowned let shard: ShardLogic
    let reading: ConversationReading
    private var message: OwnMessages = []
    private(set) var mutes: MuteLapses!
    var users = OwnSubscribers<Subscriber>()
    /// Conversations that could not be read, for each subscriber, until the next attempt.
    private var postponed: [ObjectIdentifier: (subscriber: Subscriber, ids: Set<ConversationID>)] = [:]
    private var retry: DeadlineKind!
    private var paced: DeadlineKind!
    private var isWaiting = false
    private static let pause: Milliseconds = 1_000
    /// When Redis was lost, by its clock and by the shard's. Changes since then are sent after the break.
    var lostAt: (redis: Timestamp, own: Milliseconds)?
    /// The most bytes of frames that are kept for one connection.
    private static let mostBytes = 256 * 1024
    /// Subtracted from the time of a break, because events may be lost before it is noticed. Versions follow Redis'
    /// clock.
    static let margin: Milliseconds = 60_000

    init(_ shard: ShardLogic) {
        self.shard = shard
        reading = ConversationReading(shard: shard)
        // The conversations are read again when it is their turn.
        shard.onExcess.append { [unowned self] in users.letGo($0) { $0.forgetFrames() } }
        mutes = MuteLapses(shard) { [unowned self] in
            users[$0] != nil
        } lapsed: { [unowned self] in
            readAgain([$1], for: users[$0] ?? [])
        }
    }

    func register(in registry: inout Registry) {
        mutes.register(in: &registry)
        retry = registry.deadline { [unowned self] _ in readPostponed() }
        paced = registry.deadline { [unowned self] key in
            if case .id(let user) = key { users[user]?.forEach(mark) }
        }
        registry.activityChanged.append { [unowned self] in activityChanged($0) }
        registry.sessionEnded.append { [unowned self] in users.ended($0) }
        message = registry.ownMessage { [unowned self] in frames(for: $0) }
        registry.gauge(
            "conversation_lists", help: "connections that watch the list of their user's conversations"
        ) { [unowned self] in users.count }
        registry.gauge(
            "conversation_lists_pending", help: "conversations with a change that a connection has not received yet"
        ) { [unowned self] in users.all.reduce(0) { $0 + $1.pending.count } }
    }

    // MARK: Subscribing

    /// Keeps changes for the connection from now on. They are sent once it is `isReady`.
    func begin(_ connection: Connection, _ user: UserID) -> Subscriber {
        let subscriber = Subscriber(connection, user, shard.outboxes)
        users.begin(subscriber)
        return subscriber
    }

    /// Sends the changes since `begin`.
    func ready(_ subscriber: Subscriber) {
        if users.ready(subscriber) { mark(subscriber) }
    }

    func cancel(_ subscriber: Subscriber) { users.cancel(subscriber) }
    func unsubscribe(_ connection: Connection) { users.unsubscribe(connection) }

    // MARK: Changes

    func handle(_ event: StoreEvent) {
        guard !users.isEmpty, let id = event.subject,
            ConversationRecord.concerns(event.rest, { users[$0] != nil })
        else { return }
        let record = ConversationRecord(id, lines: event.rest)
        let crowd = CrowdPace.Crowd(record, at: event.at)
        for member in record.members where users[member.user] != nil && record.isTold(to: member.user) {
            // Members receive only changes that they can see.
            guard max(record.version, member.version) == event.version else { continue }
            mutes.record(record, of: member.user)
            let version = record.version(for: member, at: event.at)
            if let crowd {
                notify(member.user, id, version, nil, crowd)
                continue
            }
            let frame = Self.frame(record.json(for: member.user, at: event.at), at: event.at)
            notify(member.user, id, version, frame)
        }
        for user in record.left where users[user] != nil {
            notify(
                user, id, event.version,
                Self.frame(ConversationRecord.removed(id, version: event.version), at: event.at))
        }
    }

    /// - Parameter frame: `nil` if the conversation must be read.
    func notify(
        _ user: UserID, _ id: ConversationID, _ version: Int64, _ frame: [UInt8]?, _ crowd: CrowdPace.Crowd? = nil
    ) {
        for subscriber in users[user] ?? [] where !subscriber.connection.isClosed {
            keep(id, version, frame, crowd, for: subscriber)
        }
    }

    func keep(
        _ id: ConversationID, _ version: Int64, _ frame: [UInt8]?, _ crowd: CrowdPace.Crowd? = nil,
        for subscriber: Subscriber
    ) {
        let held = subscriber.pending[id]
        guard version >= held?.version ?? 0 else { return }
        let before = held?.size ?? 0
        var pending = Pending(version: version, frame: frame, crowd: crowd)
        if subscriber.bytes + pending.size > Self.mostBytes, pending.size > before {
            pending = Pending(version: version, frame: nil)
        }
        subscriber.bytes += pending.size - before
        subscriber.pending[id] = pending
        mark(subscriber)
    }

    static func frame(_ conversation: [UInt8], at: Timestamp) -> [UInt8] {
        var json = Array(#"{"type":"conversation","conversation":"#.utf8)
        json += conversation
        JSONWriter.member("at", at, to: &json)
        JSONWriter.raw("}", to: &json)
        return WebSocketFrame.text(json)
    }

    // MARK: Writing

    private func mark(_ subscriber: Subscriber) {
        guard subscriber.isReady, !subscriber.pending.isEmpty, !isAway(subscriber.connection) else { return }
        shard.watchers.markMail(subscriber.connection, message)
    }

    private func isAway(_ connection: Connection) -> Bool { connection.session?.activity == .background }

    /// A client that returns from the background receives the newest state of each conversation.
    private func activityChanged(_ session: Session) {
        for subscriber in users[session.user.id] ?? [] where subscriber.connection === session.connection {
            mark(subscriber)
        }
    }

    private func frames(for connection: Connection) -> [UInt8] {
        guard !isAway(connection), let subscriber = users[connection] else { return [] }
        let user = subscriber.user
        let now = shard.clock.now
        let mustWait = !subscriber.pace.isDue(at: now)
        let waiting = mustWait ? subscriber.pending.filter { $0.value.crowd != nil } : [:]
        let pending = subscriber.pending.filter { waiting[$0.key] == nil }
            .sorted { $0.value.version < $1.value.version }
        (subscriber.pending, subscriber.bytes) = (waiting, waiting.values.reduce(0) { $0 + $1.size })
        if !waiting.isEmpty, let due = subscriber.pace.wait() { shard.deadlines.set(paced, .id(user), at: due) }
        let unread = pending.filter { $0.value.frame == nil && $0.value.crowd?.record.isPartial ?? true }.map(\.key)
        if !unread.isEmpty { readAgain(unread, for: [subscriber]) }
        var frames: [UInt8] = []
        for entry in pending.map(\.value) {
            if let frame = entry.frame { frames += frame }
            guard let crowd = entry.crowd else { continue }
            guard !crowd.record.isPartial else {
                subscriber.pace.record(crowd, CrowdPace.unread, at: now)
                continue
            }
            let frame = Self.frame(crowd.record.json(for: user, at: crowd.at), at: crowd.at)
            subscriber.pace.record(crowd, frame.count, at: now)
            frames += frame
        }
        return frames
    }

    /// Reads conversations whose frames were not kept, or whose mute has ended. All the subscribers belong to one user.
    private func readAgain(_ ids: [ConversationID], for subscribers: [Subscriber]) {
        guard let user = subscribers.first?.user else { return }
        shard.tasks.run { [self] in
            guard let records = try? await reading.read(ids, of: user).records else {
                return postpone(ids, for: subscribers)
            }
            for subscriber in subscribers where !subscriber.connection.isClosed {
                for record in records { show(record, to: subscriber) }
            }
            let there = Set(records.map(\.id))
            let gone = ids.filter { !there.contains($0) }
            if !gone.isEmpty { await notifyRemoved(gone, to: subscribers) }
        }
    }

    /// Sends the removal of conversations that the user has left, with the version that the inbox has: later versions
    /// bring them back.
    func notifyRemoved(_ ids: [ConversationID], to subscribers: [Subscriber]) async {
        do throws(RedisFailure) {
            let inbox = try await reading.inbox(of: subscribers[0].user)
            for id in ids {
                if let version = inbox.leaving(id) {
                    notifyRemoved(id, at: version, to: subscribers)
                } else if inbox.conversations.contains(id) {
                    await readLeaving(id, for: subscribers)
                }
            }
        } catch {
            if error.isLasting { dismiss(subscribers) } else { postpone(ids, for: subscribers) }
        }
    }

    /// The store could not be read: tries again as long as the connection is open.
    func postpone(_ ids: [ConversationID], for subscribers: [Subscriber]) {
        for subscriber in subscribers where !subscriber.connection.isClosed {
            postponed[ObjectIdentifier(subscriber), default: (subscriber, [])].ids.formUnion(ids)
        }
        guard !postponed.isEmpty, !isWaiting else { return }
        isWaiting = true
        shard.deadlines.set(retry, .none, at: shard.clock.now + Self.pause)
    }

    private func readPostponed() {
        isWaiting = false
        let due = postponed.values
        postponed = [:]
        for each in due where !each.subscriber.connection.isClosed {
            readAgain(each.ids.sorted(), for: [each.subscriber])
        }
    }

    /// Closes connections that have missed changes which cannot be sent. Their clients reconnect with the versions that
    /// they have.
    func dismiss(_ subscribers: [Subscriber]) {
        for subscriber in subscribers { shard.close(subscriber.connection, .tooSlow) }
    }

    func show(_ record: ConversationRecord, to subscriber: Subscriber) {
        let now = shard.clock.redisNow
        let frame = Self.frame(record.json(for: subscriber.user, at: now), at: now)
        mutes.record(record, of: subscriber.user)
        keep(record.id, record.version(for: subscriber.user, at: now), frame, for: subscriber)
    }
}
