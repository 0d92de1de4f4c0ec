import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// The changes of a conversation's messages as a log: every watcher gets every entry in order. An entry's number is
/// that of the change, which clients know as `conversationVersion` and `messagesVersion`.
final class MessageLogs: TopicKind {
    private unowned let shard: ShardLogic
    private(set) var kind: TopicKindID!
    /// The number of entries read at once.
    private static let page: Int64 = 100
    private static let pageBytes = 128 * 1024

    init(_ shard: ShardLogic) { self.shard = shard }

    func register(in registry: inout Registry) {
        kind = registry.topics(self)
        registry.event("M", for: .watchers, offers: true) { [unowned self] in handle($0) }
        registry.event("E") { [unowned self] event in
            guard let topic = self.shard.watchers.topic(event.subjectBytes, kind) else { return }
            // Watchers who have not received all of the removed entries must start again.
            self.shard.watchers.dropEntries(of: topic)
        }
    }

    // MARK: Events

    private func handle(_ event: StoreEvent) {
        guard let topic = shard.watchers.topic(event.subjectBytes, kind) else { return }
        guard let message = StoredMessage(Array(event.rest)) else {
            return shard.recordDamage("message", of: topic.subject)
        }
        // After a break this shard may have missed the removal of a member, so it reads the permitted receivers
        // together with the message.
        guard shard.link.isLive else { return shard.logReader.complete(topic) }
        let frame = Self.frame(topic, event.version, message, at: event.at)
        if case .hole = shard.watchers.append(frame, sequence: event.version, to: topic) {
            shard.logReader.complete(topic)
        }
    }

    /// The members have changed: former members must not receive any more, and users who are members again get the
    /// entries that they missed. Those entries are read, because entries in memory may be from after such a user left
    /// another time.
    func handle(members event: StoreEvent) {
        guard let topic = shard.watchers.topic(event.subjectBytes, kind), let members = members(of: topic) else {
            return
        }
        let users = Set(event.words.compactMap { UserID($0) })
        members.restrict(to: users)
        // Former members still get the messages that came before this event.
        members.apply(to: topic, in: shard.watchers) { shard.socketWriter.writeNow(to: $0) }
        let areBack = shard.watchers.paused(on: topic).contains { connection in
            connection.session.map { users.contains($0.user.id) } ?? false
        }
        if areBack { shard.logReader.complete(topic) }
    }

    private func members(of topic: Topic) -> ConversationMembers? { topic.state as? ConversationMembers }

    static func frame(_ topic: Topic, _ change: Int64, _ message: StoredMessage, at: Timestamp) -> [UInt8] {
        var json: [UInt8] = []
        // Names, numbers and ids fit into 512 bytes.
        json.reserveCapacity(message.text.count + message.attachments.count + 512)
        JSONWriter.raw(#"{"type":"message","conversation":"#, to: &json)
        JSONWriter.string(topic.subject.string, to: &json)
        JSONWriter.key("message", to: &json)
        message.write(to: &json)
        JSONWriter.member("conversationVersion", change, to: &json)
        JSONWriter.member("at", at, to: &json)
        JSONWriter.raw("}", to: &json)
        return WebSocketFrame.text(json)
    }

    // MARK: The topic

    var keepsLog: Bool { true }
    func makeState() -> AnyObject? { ConversationMembers() }

    func isDoubtful(_ topic: Topic, for user: UserID) -> Bool { members(of: topic)?.users.contains(user) == false }

    func isMember(_ user: UserID, of topic: Topic) -> Bool { !isDoubtful(topic, for: user) }

    func read(_ topic: Topic, reply: @escaping StoreReply) {
        let key = shard.partitions.keys(of: topic.subject).conversation(topic.subject)
        members(of: topic)?.asking(
            { [unowned shard] in shard.store.command(["HGETALL", key], lane: .commands, reply: $0) }, reply: reply)
    }

    func apply(_ value: RedisValue, of topic: Topic, announced: Bool) {
        let record = ConversationRecord(topic.subject, value)
        members(of: topic)?.answered(Set(record?.members.map(\.user) ?? []))
        members(of: topic)?.apply(to: topic, in: shard.watchers)
        if case .hole = shard.watchers.recordEnd(record?.changes ?? 0, of: topic) { shard.logReader.complete(topic) }
    }

    /// The client drops its copy of the conversation's messages, and subscribes again.
    func restartFrame(of topic: Topic, at end: Int64) -> [UInt8] {
        var json = Array(#"{"type":"messagesReset","conversation":"#.utf8)
        JSONWriter.string(topic.subject.string, to: &json)
        return WebSocketFrame.text(json + [0x7D])
    }

    func readLog(_ topic: Topic, after: Int64, reply: @escaping (Result<LogPage, RedisFailure>) -> Void) {
        entries(of: topic, after: after, through: .max) { [self] result in
            reply(
                result.map { page in
                    // After a break only this page shows who may receive the following entries.
                    members(of: topic)?.answered(page.members)
                    members(of: topic)?.apply(to: topic, in: shard.watchers)
                    // A log has no holes: each entry that the store no longer has becomes an empty one, and only the
                    // last of them sends a reset.
                    let missing = page.first - after - 1
                    let resets = (0..<min(max(missing, 0), Self.page)).map {
                        LogEntry(
                            sequence: after + 1 + $0,
                            frame: $0 == missing - 1 ? restartFrame(of: topic, at: page.end) : [])
                    }
                    return LogPage(entries: missing <= Self.page ? resets + page.entries : resets, end: page.end)
                })
        }
    }

    func catchUp(_ request: CatchUp) {
        entries(of: request.topic, after: request.after, through: request.through) { [self] result in
            switch result {
            case .failure: shard.catchUps.fail(request)
            case .success(let page):
                var entries = page.entries
                if page.first > request.after + 1 {
                    let frame = restartFrame(of: request.topic, at: page.end)
                    entries.insert(LogEntry(sequence: page.first - 1, frame: frame), at: 0)
                }
                shard.catchUps.complete(request, with: entries)
            }
        }
    }

    private struct Page {
        /// The last change in the store.
        let end: Int64
        /// The number of the first entry, or of the next one if the page is empty.
        let first: Int64
        let members: Set<UserID>
        let entries: [LogEntry]
    }

    /// One page of the entries after `after`.
    private func entries(
        of topic: Topic, after: Int64, through: Int64, done: @escaping (Result<Page, RedisFailure>) -> Void
    ) {
        let keys = shard.partitions.keys(of: topic.subject)
        let id = topic.subject
        let read: StoreReply = { [self] result in
            done(
                result.map { value in
                    let reply = ScriptReply(value)
                    let (end, first) = (reply[0].int ?? 0, reply[1].int ?? 1)
                    let members = reply[2].string?.split(separator: " ") ?? []
                    let entries = reply.rest.dropFirst(3).enumerated().map { index, word in
                        let number = first + Int64(index)
                        // The message is damaged.
                        guard let message = word.bytes.flatMap({ StoredMessage($0) }) else {
                            return LogEntry(sequence: number, frame: restartFrame(of: topic, at: end))
                        }
                        return LogEntry(
                            sequence: number, frame: Self.frame(topic, number, message, at: message.changedAt))
                    }
                    return Page(
                        end: end, first: first, members: Set(members.compactMap { UserID(String($0)) }),
                        entries: Array(entries))
                })
        }
        let call = ScriptCall(
            .logPage, in: keys,
            ["conversation": keys.conversation(id), "log": keys.log(id), "changes": keys.changes(id)],
            [
                "after": after, "through": min(through, 9_007_199_254_740_991), "count": Self.page,
                "mostBytes": Self.pageBytes,
            ])
        members(of: topic)?.asking({ [unowned shard] in shard.run(call, reply: $0) }, reply: read)
    }
}
