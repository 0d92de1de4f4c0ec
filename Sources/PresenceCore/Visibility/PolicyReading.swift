import PresenceProtocol
import Redis

/// Reads a policy: the settings, the lists, then the settings again, whose version shows whether a list has changed
/// meanwhile.
///
/// This is not a script, because Redis does nothing else while a script runs. In Lua two lists of 10,000 ids take 16 to
/// 28 ms, or many times that if a user has chosen ids that collide in Lua's string table. Long lists are read in pieces.
final class PolicyReading {
    /// The number of ids to read at a time: some 0.5 ms of Redis.
    private static let piece = 1_000
    /// Lists that keep changing are read later; a shard's own read pauses before the next.
    private static let mostAttempts = 4
    private static let changed = "CHANGED"

    private let store: any Store
    private let user: String
    private let lists: (contacts: String, blocks: String)
    /// Whether to read the contacts even if no setting needs them.
    private let readsAll: Bool
    private let reply: StoreReply
    private var attempts = 0
    /// The ids of a long list so far. An id that Redis moves during the scan may be returned twice.
    private var found: Set<RedisValue> = []

    init(of user: UserID, all: Bool, on shard: ShardLogic, reply: @escaping StoreReply) {
        let keys = shard.partitions.keys(of: user)
        store = shard.store
        self.user = keys.user(user)
        lists = (keys.contacts(user), keys.blocks(user))
        readsAll = all
        self.reply = reply
    }

    /// `reply` gets a value for `PolicyRead`.
    func begin() {
        attempts += 1
        readHead { [self] fields in
            guard let head = PolicyHead.read(fields[0], findable: fields[1]), !head.isDamaged else {
                return finish(fields, [], [])
            }
            let visibility = head.visibility
            let needsContacts = readsAll || visibility.presence == .contacts || visibility.lastSeen == .contacts
            read(lists.contacts, count: needsContacts ? head.contacts : 0) { [self] contacts in
                read(lists.blocks, count: head.blocks) { [self] blocks in
                    readHead { [self] again in
                        if again == fields { return finish(fields, contacts, blocks) }
                        guard readsAll else { return reply(.success(.array([.status(Self.changed)]))) }
                        if attempts < Self.mostAttempts { return begin() }
                        reply(.failure(.overloaded))
                    }
                }
            }
        }
    }

    private func finish(_ head: [RedisValue], _ contacts: [RedisValue], _ blocks: [RedisValue]) {
        reply(.success(.array([.status("OK")] + head + [.integer(Int64(contacts.count))] + contacts + blocks)))
    }

    private func readHead(then: @escaping ([RedisValue]) -> Void) {
        query(["HMGET", user, "visibility", "findable"]) { value in
            let fields = value.array ?? []
            then(fields.count == 2 ? fields : [.null, .null])
        }
    }

    private func read(_ list: String, count: Int, then: @escaping ([RedisValue]) -> Void) {
        guard count > 0 else { return then([]) }
        guard count > Self.piece else { return query(["SMEMBERS", list]) { then($0.array ?? []) } }
        found = []
        readOn(list, from: "0", then: then)
    }

    private func readOn(_ list: String, from cursor: String, then: @escaping ([RedisValue]) -> Void) {
        query(["SSCAN", list, cursor, "COUNT", String(Self.piece)]) { [self] value in
            let words = value.array ?? []
            found.formUnion(words.last?.array ?? [])
            guard let next = words.first?.string, next != "0" else { return then(Array(found)) }
            readOn(list, from: next, then: then)
        }
    }

    private func query(_ command: [String], then: @escaping (RedisValue) -> Void) {
        store.command(command, lane: .commands) { [self] result in
            if case .success(let value) = result { then(value) } else { reply(result) }
        }
    }
}

extension PolicyReading {
    /// Whether a list changed while it was read.
    static func isChanged(_ answer: RedisValue) -> Bool { answer.array?.first?.string == changed }
}

extension VisibilityPolicies {
    /// Reads a user's policy, with both lists if `all`; `reply` gets a value for `PolicyRead`. Without `all` the reply
    /// may be that a list has changed meanwhile (`PolicyReading.isChanged`).
    package func read(_ user: UserID, all: Bool, reply: @escaping StoreReply) {
        PolicyReading(of: user, all: all, on: shard, reply: reply).begin()
    }
}
