import PresenceCore
import PresenceProtocol

/// The result of one scan of the whole database.
struct Look {
    /// The leases against which the scan was checked.
    var leases: HeldLeases
    var symptoms: Set<Symptom> = []
    /// Lists of users of dead incarnations, to be checked again.
    var suspectLists: Set<String> = []
    /// Some symptoms were not kept because there were more than `most`.
    var isCut = false
    private var counts: [DoctorFinding.Kind: Int] = [:]

    /// The most symptoms kept of one kind; the next run finds the rest.
    private static let most = 10_000

    init(leases: HeldLeases) { self.leases = leases }

    mutating func record(_ kind: DoctorFinding.Kind, _ place: Symptom.Place) {
        guard counts[kind, default: 0] < Self.most else {
            isCut = true
            return
        }
        if symptoms.insert(Symptom(kind: kind, place: place)).inserted { counts[kind, default: 0] += 1 }
    }

    /// The users with a symptom.
    var users: Set<UserID> {
        Set(
            symptoms.compactMap { symptom in
                switch symptom.place {
                case .user(let id), .field(let id, _), .session(let id, _), .listing(_, let id, _): id
                default: nil
                }
            })
    }
}

/// An error that may be real, and its place. Only symptoms found by two checks some time apart are reported, because servers
/// change data during a check.
struct Symptom: Hashable {
    let kind: DoctorFinding.Kind
    let place: Place

    enum Place: Hashable {
        /// A Redis server as a whole, by name.
        case redis(String)
        case incarnation(String)
        case channel(partition: Int)
        case writer(String, partition: Int)
        case user(UserID)
        case field(UserID, String)
        case session(UserID, String)
        case listing(String, user: UserID, partition: Int)
        case key(String)
        /// A field in the hash at a key.
        case claim(Identifier, key: String)
        /// The address or the identity's digest, a field in the hash at a key.
        case accountClaim(String, key: String)
        /// The user's inbox and the conversation.
        case membership(UserID, ConversationID)
    }
}

extension Symptom.Place {
    /// The place under the name by which an operator finds it in Redis.
    func text(_ partitions: Partitions) -> String {
        switch self {
        case .redis(let name): name
        case .incarnation(let name): name
        case .channel(let partition): partitions.keys(partition).events
        case .writer(let name, let partition): "\(partitions.keys(partition).shards) \(name)"
        case .user(let id): partitions.keys(of: id).user(id)
        case .field(let id, let field): "\(partitions.keys(of: id).user(id)) \(field)"
        case .session(let id, let name): "\(partitions.keys(of: id).sessions(id)) \(name)"
        case .listing(let name, let id, let partition):
            "\(partitions.keys(partition).users(ofShard: name)) \(id.string)"
        case .key(let key): key
        case .claim(let thing, let key): "\(key) \(thing.string)"
        case .accountClaim(let name, let key): "\(key) \(name)"
        case .membership(let user, let id): "\(partitions.keys(of: user).inbox(user)) \(id.string)"
        }
    }
}
