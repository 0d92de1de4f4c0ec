import PresenceCore
import PresenceProtocol
import Redis

/// Compares conversations with their messages and with the inboxes of their members.
extension Doctor {
    /// One step of the scan, over conversations of one server. A single conversation is read atomically.
    func checkConversations(_ keys: [String], of redis: DoctorRedis, _ look: inout Look) throws(RedisFailure) {
        for part in keys.parts(of: Self.step / 4) {
            let ids = part.compactMap { key -> ConversationID? in
                if case .conversation(let id, _) = KeyName(key, in: partitions.space, families) { id } else { nil }
            }
            let readings = ids.map(talkReadings(of:))
            let commands = readings.flatMap(\.self)
            let answers: [Result<RedisValue, RedisFailure>]
            if ids.count == 1 {
                answers = try redis.runAtOnce(commands).map { Result(checking: $0) }
            } else {
                answers = try redis.runAll(commands)
            }
            var pairs: [(UserID, ConversationID)] = []
            for (place, id) in ids.enumerated() {
                let own = Array(answers[(4 * place)..<(4 * place + 4)])
                pairs += recordFaults(HeldConversation(id, own), at: part[place], &look).map { ($0, id) }
            }
            try checkInboxes(pairs, &look)
        }
    }

    private func talkReadings(of id: ConversationID) -> [[String]] {
        let keys = partitions.keys(of: id)
        return [
            ["HGETALL", keys.conversation(id)], ["LLEN", keys.log(id)], ["STRLEN", keys.prints(id)],
            ["LLEN", keys.changes(id)],
        ]
    }

    /// - Returns: The members whose inboxes should already list the conversation.
    private func recordFaults(_ held: HeldConversation?, at key: String, _ look: inout Look) -> [UserID] {
        guard let held else { return [] }
        guard held.isReadable else {
            look.record(.malformedConversation, .key(key))
            return []
        }
        if !held.hasAllMessages {
            look.record(.lostMessages, .key(key))
        } else if !held.hasIndex {
            look.record(.brokenIndex, .key(key))
        }
        return held.settled
    }

    /// Compares an inbox with the conversations that it lists.
    func checkInbox(_ key: String, of user: UserID, _ look: inout Look) throws(RedisFailure) {
        let words = try store[key].run("HGETALL", key).array?.compactMap(\.string) ?? []
        let ids = stride(from: 0, to: words.count - 1, by: 2).compactMap { place in
            words[place + 1].hasPrefix("in ") ? ConversationID(words[place]) : nil
        }
        for part in ids.parts(of: Self.step) { try checkInboxes(part.map { (user, $0) }, &look) }
    }

    /// Checks that the inbox and the conversation of each pair agree on the membership. They may be in different partitions.
    func checkInboxes(_ pairs: [(UserID, ConversationID)], _ look: inout Look) throws(RedisFailure) {
        for part in pairs.parts(of: Self.step) {
            let said = try runEach(
                part.flatMap { user, id in
                    let (home, place) = (partitions.keys(of: user), partitions.keys(of: id))
                    return [
                        ["HGET", home.inbox(user), id.string],
                        ["HMGET", place.conversation(id), "m:" + user.string, "j:" + user.string],
                        ["SISMEMBER", home.unfinished, "departing " + user.string],
                    ]
                })
            for (place, pair) in part.enumerated() {
                let (inbox, member, leaving) = (said[3 * place], said[3 * place + 1], said[3 * place + 2])
                guard case .success(let inbox) = inbox, case .success(let member) = member,
                    case .success(let leaving) = leaving, let fields = member.array, fields.count == 2
                else { continue }
                // A change of the inbox is still pending.
                guard fields[1].isNull, leaving.int != 1 else { continue }
                let (isListed, isMember) = (inbox.string?.hasPrefix("in ") == true, !fields[0].isNull)
                if isMember, !isListed { look.record(.unlistedConversation, .membership(pair.0, pair.1)) }
                if isListed, !isMember { look.record(.lostConversation, .membership(pair.0, pair.1)) }
            }
        }
    }

    /// Runs commands whose keys may be on different servers; the second word of each is its key.
    private func runEach(_ commands: [[String]]) throws(RedisFailure) -> [Result<RedisValue, RedisFailure>] {
        guard store.servers.count > 1 else { return try store.servers[0].runAll(commands) }
        var answers: [Int: Result<RedisValue, RedisFailure>] = [:]
        let places = Dictionary(grouping: commands.indices) { ObjectIdentifier(store[commands[$0][1]]) }
        for redis in store.servers {
            let own = places[ObjectIdentifier(redis)] ?? []
            for (place, answer) in zip(own, try redis.runAll(own.map { commands[$0] })) { answers[place] = answer }
        }
        return commands.indices.map { answers[$0]! }
    }
}

/// A conversation as read from Redis, with the lengths of its lists.
private struct HeldConversation {
    private(set) var isReadable = true
    /// There are as many messages as the conversation's numbers require.
    private(set) var hasAllMessages = true
    /// Whether prints and changes match the messages.
    private(set) var hasIndex = true
    /// The members whose inboxes should already list the conversation.
    private(set) var settled: [UserID] = []

    /// `nil` if there is no conversation, or a key has another type.
    init?(_ id: ConversationID, _ answers: [Result<RedisValue, RedisFailure>]) {
        let values = answers.compactMap { try? $0.get() }
        guard values.count == 4, let words = values[0].array, !words.isEmpty else { return nil }
        var fields: [String: RedisValue] = [:]
        for place in stride(from: 0, to: words.count - 1, by: 2) {
            fields[words[place].string ?? ""] = words[place + 1]
        }
        for name in ["first", "last", "changes", "version", "joins", "createdAt"] {
            if let value = fields[name], value.int == nil { isReadable = false }
        }
        for (name, value) in fields where name.hasPrefix("m:") {
            guard let user = UserID(String(name.dropFirst(2))),
                ConversationRecord.Member(user, value.string ?? "") != nil
            else {
                isReadable = false
                continue
            }
            if fields["j:" + user.string] == nil { settled.append(user) }
        }
        if let message = fields["message"], message.bytes.flatMap({ StoredMessage($0) }) == nil { isReadable = false }
        // A conversation that has ended keeps only its numbers.
        let (first, last) = (fields["first"]?.int ?? 1, fields["last"]?.int ?? 0)
        let (count, changes) = (max(0, last - first + 1), fields["changes"]?.int ?? 0)
        hasAllMessages = values[1].int == count
        hasIndex = values[2].int == 8 * count && (values[3].int ?? 0) <= changes && (count == 0 || values[3].int != 0)
    }
}
