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
