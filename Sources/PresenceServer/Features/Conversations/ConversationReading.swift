import PresenceCore
import PresenceProtocol
import Redis

/// Reads conversations and inboxes from Redis.
struct ConversationReading {
    unowned let shard: ShardLogic
    /// Conversations that are read at a time for one list.
    private static let window = 64

    func read(_ id: ConversationID, done: @escaping (Result<ConversationRecord?, RedisFailure>) -> Void) {
        let key = shard.partitions.keys(of: id).conversation(id)
        shard.store.command(["HGETALL", key], lane: .commands) { result in
            done(result.map { ConversationRecord(id, $0) })
        }
    }

    /// The same for a request.
    func read(_ id: ConversationID) async throws(Refusal) -> ConversationRecord? {
        let key = shard.partitions.keys(of: id).conversation(id)
        return ConversationRecord(id, try await shard.ask("HGETALL", key, about: id))
    }

    /// What several conversations have come to.
    struct Found {
        /// Those that the user is in.
        var records: [ConversationRecord] = []
        /// Those that cannot be read: nobody knows whether the user is in them. They are for `presenced doctor`.
        var damaged: Set<ConversationID> = []
    }

    func read(
        _ ids: [ConversationID], of user: UserID, done: @escaping (Result<Found, RedisFailure>) -> Void
    ) {
        var found = Found()
        var failure: RedisFailure?
        BoundedConcurrency(ids, window: Self.window) { id, next in
            guard failure == nil else { return next() }
            read(id) { result in
                switch result {
                case .success(let record): if let record, record.member(user) != nil { found.records.append(record) }
                case .failure(let reason) where reason.isLasting:
                    shard.noteDamage("conversation", of: id)
                    found.damaged.insert(id)
                case .failure(let reason): failure = reason
                }
                next()
            }
        } done: {
            done(failure.map { .failure($0) } ?? .success(found))
        }
    }

    /// Whether one of those who are put into a conversation is in too many, and not in this one.
    ///
    /// - Parameters:
    ///   - creator: Who makes it, or made it, as a group; `nil` for a direct one, or a backend's.
    ///   - id: The conversation, if there may be one.
    func isFull(
        _ users: [UserID], madeBy creator: UserID?, besides id: ConversationID? = nil
    ) async throws(Refusal) -> Bool {
        var (isFull, refusal) = (false, Refusal?.none)
        await shard.tasks.each(users, window: Self.window) { user in
            do throws(RedisFailure) {
                if try await !hasRoom(user, isPut: creator != nil && creator != user, besides: id) { isFull = true }
            } catch {
                // What is damaged cannot hear of it, which keeps nobody else from it.
                if !error.isLasting { refusal = Refusal(error, changes: false) }
            }
        }
        if let refusal { throw refusal }
        return isFull
    }

    /// The same of a conversation that there may be.
    func isFull(_ users: [UserID], in id: ConversationID) async throws(Refusal) -> Bool {
        guard !users.isEmpty else { return false }
        let key = shard.partitions.keys(of: id).conversation(id)
        let creator = try await shard.ask("HGET", key, "creator", about: id).string
        return try await isFull(users, madeBy: creator.flatMap { UserID($0) }, besides: id)
    }

    /// Another user's groups take half of a user's conversations at most (`enroll.lua`).
    private func hasRoom(_ user: UserID, isPut: Bool, besides id: ConversationID?) async throws(RedisFailure) -> Bool {
        let most = shard.configuration[Conversations.mostPerUser]
        let key = shard.partitions.keys(of: user).inbox(user)
        // It also has those that were left: only then they are counted.
        let count = try await shard.command(["HLEN", key]).int ?? 0
        guard count >= (isPut ? most / 2 : most) else { return true }
        let inbox = try await inbox(of: user)
        if let id, inbox.conversations.contains(id) { return true }
        return inbox.conversations.count < most && !(isPut && inbox.put >= most / 2)
    }

    /// What an inbox has.
    struct Inbox {
        var conversations: [ConversationID] = []
        /// How many of them are other users' groups.
        var put = 0
        /// Those that the user is no longer in, with the version at which they left.
        var left: [ConversationID: Int64] = [:]
        /// What was left at this version or before may be missing in `left`.
        var dropped: Int64 = 0

        /// The version at which the user left a conversation. A client in the background may have to be told only now of one that
        /// is in `left` no more: it was left by `dropped`.
        func leaving(_ id: ConversationID) -> Int64? {
            left[id] ?? (dropped > 0 && !conversations.contains(id) ? dropped : nil)
        }
    }

    func inbox(of user: UserID) async throws(RedisFailure) -> Inbox {
        try await shard.tasks.wait { self.inbox(of: user, done: $0) }.get()
    }

    func inbox(of user: UserID, done: @escaping (Result<Inbox, RedisFailure>) -> Void) {
        shard.store.command(["HGETALL", shard.partitions.keys(of: user).inbox(user)], lane: .commands) { result in
            if result.failure?.isLasting == true { shard.noteDamage("inbox", of: user) }
            done(
                result.map { value in
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
                })
        }
    }
}

extension Result {
    var failure: Failure? { if case .failure(let failure) = self { failure } else { nil } }
}
