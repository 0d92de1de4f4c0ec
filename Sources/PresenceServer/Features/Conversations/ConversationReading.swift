import PresenceCore
import PresenceProtocol
import Redis

/// Reads conversations and inboxes from Redis.
struct ConversationReading {
    unowned let shard: ShardLogic
    /// The most conversations that are read at once for one list.
    private static let window = 64

    /// For a request.
    func read(_ id: ConversationID) async throws(Refusal) -> ConversationRecord? {
        let key = shard.partitions.keys(of: id).conversation(id)
        return ConversationRecord(id, try await shard.run("HGETALL", key, about: id))
    }

    /// The result of reading several conversations.
    struct Found {
        /// The conversations of which the user is a member.
        var records: [ConversationRecord] = []
        /// The conversations that cannot be read, so membership is unknown. `presenced doctor` reports them.
        var damaged: Set<ConversationID> = []
    }

    func read(_ ids: [ConversationID], of user: UserID) async throws(RedisFailure) -> Found {
        var found = Found()
        try await shard.tasks.each(ids, window: Self.window) { (id) throws(RedisFailure) in
            do throws(RedisFailure) {
                let key = shard.partitions.keys(of: id).conversation(id)
                let record = ConversationRecord(id, try await shard.command(["HGETALL", key]))
                if let record, record.member(user) != nil { found.records.append(record) }
            } catch  where error.isLasting {
                shard.recordDamage("conversation", of: id)
                found.damaged.insert(id)
            }
        }
        return found
    }

    /// Whether one of the users to be added is in too many conversations. Users who are in the given conversation
    /// already do not count.
    ///
    /// - Parameters:
    ///   - creator: the user who makes or made the conversation, if it is a group; `nil` for a direct conversation or a
    ///     backend's.
    ///   - id: the conversation, if it may exist.
    func isFull(
        _ users: [UserID], madeBy creator: UserID?, besides id: ConversationID? = nil
    ) async throws(Refusal) -> Bool {
        var isFull = false
        try await shard.tasks.each(users, window: Self.window) { (user) throws(Refusal) in
            do throws(RedisFailure) {
                if try await !hasRoom(user, isPut: creator != nil && creator != user, besides: id) { isFull = true }
            } catch {
                // A user whose inbox is damaged cannot be added, but must not keep the others out.
                if !error.isLasting { throw Refusal(error, changes: false) }
            }
        }
        return isFull
    }

    /// As above, for a conversation that may exist already.
    func isFull(_ users: [UserID], in id: ConversationID) async throws(Refusal) -> Bool {
        guard !users.isEmpty else { return false }
        let key = shard.partitions.keys(of: id).conversation(id)
        let creator = try await shard.run("HGET", key, "creator", about: id).string
        return try await isFull(users, madeBy: creator.flatMap { UserID($0) }, besides: id)
    }

    /// Groups of other users take at most half of a user's conversations (`enroll.lua`).
    private func hasRoom(_ user: UserID, isPut: Bool, besides id: ConversationID?) async throws(RedisFailure) -> Bool {
        let most = shard.configuration[Conversations.mostPerUser]
        let key = shard.partitions.keys(of: user).inbox(user)
        // The length includes conversations that the user left, so the others are counted only if the length exceeds
        // the limit.
        let count = try await shard.command(["HLEN", key]).int ?? 0
        guard count >= (isPut ? most / 2 : most) else { return true }
        let inbox = try await inbox(of: user)
        if let id, inbox.conversations.contains(id) { return true }
        return inbox.conversations.count < most && !(isPut && inbox.put >= most / 2)
    }

    /// The contents of an inbox.
    struct Inbox {
        var conversations: [ConversationID] = []
        /// How many of the conversations are groups of other users.
        var put = 0
        /// Conversations that the user has left, with the version at which they did.
        var left: [ConversationID: Int64] = [:]
        /// Conversations left at this version or before may be missing in `left`.
        var dropped: Int64 = 0

        /// The version at which the user left a conversation. A client in the background may need it only when the
        /// conversation is no longer in `left`: it was left at `dropped` at the latest.
        func leaving(_ id: ConversationID) -> Int64? {
            left[id] ?? (dropped > 0 && !conversations.contains(id) ? dropped : nil)
        }
    }

    func inbox(of user: UserID) async throws(RedisFailure) -> Inbox {
        let value: RedisValue
        do throws(RedisFailure) {
            value = try await shard.command(["HGETALL", shard.partitions.keys(of: user).inbox(user)])
        } catch {
            if error.isLasting { shard.recordDamage("inbox", of: user) }
            throw error
        }
        let words = value.array?.compactMap(\.string) ?? []
        var inbox = Inbox()
        for place in stride(from: 0, to: words.count - 1, by: 2) {
            if words[place] == " dropped" { inbox.dropped = Int64(words[place + 1]) ?? 0 }
            guard let id = ConversationID(words[place]) else { continue }
            let state = words[place + 1].split(separator: " ")
            if state.first == "in" {
                inbox.conversations.append(id)
                if state.last == "put" { inbox.put += 1 }
            } else if state.count > 1 {
                inbox.left[id] = Int64(state[1])
            }
        }
        return inbox
    }
}

extension Result {
    var failure: Failure? { if case .failure(let failure) = self { failure } else { nil } }
}
