import PresenceCore
import PresenceProtocol

/// What one look at everything found.
struct Look {
    /// The leases that it was compared with.
    var leases: HeldLeases
    var symptoms: Set<Symptom> = []
    /// Lists of dead incarnations, to be looked at again.
    var suspectLists: Set<String> = []
    /// There was more than is kept.
    var isCut = false
    private var counts: [DoctorFinding.Kind: Int] = [:]

    /// So many of a kind are enough: with more, the next run finds the rest.
    private static let most = 10_000

    init(leases: HeldLeases) { self.leases = leases }

    mutating func note(_ kind: DoctorFinding.Kind, _ place: Symptom.Place) {
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
