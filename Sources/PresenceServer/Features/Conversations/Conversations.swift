import Passwords
import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// Conversations: their members, the events that each member receives, and each member's own settings.
final class Conversations: Feature {
    static let plan = FeaturePlan(
        name: "conversations", isOptional: false, scripts: Script.conversations,
        keys: [KeyFamily(name: "creations", isPassing: false, type: "hash"), .inbox, .log, .changes, .prints],
        settings: [Marking.delay, mostPerUser, mostParticipants, mostCreated])

    unowned let shard: ShardLogic
    let lists: ConversationLists
    let reading: ConversationReading
    let blocks: Blocks
    let joining: Joining
    let receipts: Receipts
    let departing: Departing
    let marking: Marking
    /// Key of the hash that makes the id of a direct conversation.
    let pairKey: DrawnKey
    /// Called with each event that names a conversation's members, after they have changed.
    var onMembers: [(StoreEvent) -> Void] = []
    /// Cache: the pairs of direct conversations, and which conversations are groups. Each send needs this, and only
    /// backends change it.
    private var pairs: [ConversationID: Pair] = [:]
    private static let mostPairs = 10_000

    enum Pair: Equatable {
        case none
        case of(UserID, UserID)
    }

    init(_ shard: ShardLogic) {
        self.shard = shard
        lists = ConversationLists(shard)
        reading = ConversationReading(shard: shard)
        blocks = Blocks(shard: shard)
        joining = Joining(shard)
        receipts = Receipts(shard)
        departing = Departing(shard)
        marking = Marking(shard)
        pairKey = DrawnKey(shard, shard.partitions.space.pairKey, count: 16, what: "the key of pairs")
    }

    func register(in registry: inout Registry) {
        lists.register(in: &registry)
        joining.register(in: &registry)
        receipts.register(in: &registry)
        departing.register(in: &registry)
        marking.register(in: &registry)
        registerRequests(in: &registry)
        registerRoutes(in: &registry)
        registry.event("N") { [unowned self] in lists.handle($0) }
        registry.event("C") { [unowned self] event in
            if let id = event.subject { pairs[id] = nil }
            for notify in onMembers { notify(event) }
        }
    }

    func becameStale() {
        lists.lost()
        // A backend may have changed a conversation during the break.
        pairs = [:]
    }

    func storeAgain() async throws(RedisFailure) { try await pairKey.read() }
    func readAgain() async throws(RedisFailure) { try await lists.readAgain() }
    func becameLive() { lists.live() }

    // MARK: Direct conversations

    /// Only servers, which have the key, can compute the id. Two users who create the conversation at once create the
    /// same one.
    ///
    /// - Parameter attempt: more than 0 if a backend has made groups of the conversations with the earlier ids.
    func directID(of a: UserID, _ b: UserID, attempt: Int) -> ConversationID? {
        guard let pairKey = pairKey.bytes else { return nil }
        let pair = [a.string, b.string].sorted().joined(separator: " ") + (attempt == 0 ? "" : " \(attempt)")
        return ConversationID("d" + Sodium.mac(Array(pair.utf8), key: pairKey).hexadecimal)
    }

    static let mostAttempts = 8

    /// Whether this is, or was, the direct conversation of these two.
    func isDirect(_ id: ConversationID, of a: UserID, _ b: UserID) -> Bool {
        (0...Self.mostAttempts).contains { directID(of: a, b, attempt: $0) == id }
    }

    /// The two members of a direct conversation; `.none` for a group.
    func pair(of id: ConversationID, found: @escaping (Result<Pair, RedisFailure>) -> Void) {
        if let known = pairs[id] { return found(.success(known)) }
        let key = shard.partitions.keys(of: id).conversation(id)
        shard.store.command(["HMGET", key, "kind", "pair"], lane: .commands) { [self] result in
            found(
                result.map { value in
                    let words = value.array ?? []
                    let users = words.last?.string?.split(separator: " ").compactMap { UserID(String($0)) } ?? []
                    let pair = users.count == 2 ? Pair.of(users[0], users[1]) : .none
                    if words.first?.isNull == false {
                        if pairs.count >= Self.mostPairs { pairs = [:] }
                        pairs[id] = pair
                    }
                    return pair
                })
        }
    }

    /// Whether it is a direct conversation of this user in which one member blocks the other.
    func isBlocked(_ user: UserID, in id: ConversationID, found: @escaping (Result<Bool, RedisFailure>) -> Void) {
        pair(of: id) { [self] result in
            switch result {
            case .failure(let failure): found(.failure(failure))
            case .success(.of(let a, let b)) where user == a || user == b:
                blocks.exist(between: user, and: [user == a ? b : a], found: found)
            case .success: found(.success(false))
            }
        }
    }

    /// Async variant.
    func isBlocked(_ user: UserID, in id: ConversationID) async throws(Refusal) -> Bool {
        let result: Result<Bool, RedisFailure> = await shard.tasks.wait { isBlocked(user, in: id, found: $0) }
        return try result.answered()
    }

    /// The mark of this installation on the files of its conversations. Another installation, or a Redis that has lost
    /// all data, has another mark. `nil` until the key is read from Redis.
    var installation: String? { pairKey.bytes.map { Sodium.mac(Array("installation".utf8), key: $0).hexadecimal } }
}

/// The settings of conversations. config/presenced.yaml has each with its sentence.
extension Conversations {
    static let mostPerUser = Setting<Int>(
        "conversations.mostPerUser", 2_000, in: 2...100_000,
        about: "How many conversations a user may be in; beyond it, they cannot be added to another one. It bounds a "
            + "user's list, to which any user can add: reading one of 1,000 takes Redis some ms. Groups of other "
            + "users take at most half of it; the rest is for direct conversations, the user's own groups and those "
            + "of backends.")
    static let mostParticipants = Setting<Int>(
        "limits.participants", 10, in: 2...1_000,
        about:
            "Participants of one conversation (2 to 1000). The server sends each change of it to all of them, whole, "
            + "so the cost grows with the square of their number.")
    static let mostCreated = Setting<Int>(
        "limits.conversationsPerUser", 1_000, in: 1...1_000_000, about: "Conversations that one user may create.")
}
