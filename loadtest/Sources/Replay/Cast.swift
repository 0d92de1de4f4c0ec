import PresenceProtocol

/// Who plays in a replay: the people of the trace, each at a node of the graph, and those of their neighbours whom the
/// trace does not have. The same trace and graph give the same cast.
struct Cast {
    /// The people of the trace come first, in its order; after them those who are only watched.
    let users: [UserID]
    /// How many of `users` are people of the trace.
    let players: Int
    /// What the players are called in the trace.
    let names: [String]
    /// Whom each player watches, as places in `users`, in increasing order: their neighbours in the graph.
    let watched: [[Int]]
    /// With whom each player talks: up to nine of their neighbours, those of the trace first.
    let companions: [[Int]]

    /// A conversation has 2 to 10 participants.
    static let mostCompanions = 9

    private let places: [UserID: Int]

    /// - Parameter prefix: begins every id, so that runs on one server do not meet.
    init(_ trace: Trace, _ graph: Graph, prefix: String) throws(Failure) {
        let order = graph.neighbourhoodOrder()
        guard trace.people.count <= order.count else {
            throw Failure("the trace has \(trace.people.count) people and the graph only \(order.count) nodes")
        }
        var users: [UserID] = []
        for name in trace.people {
            guard let user = UserID("\(prefix)-\(name)") else { throw Failure("not the id of a person: \(name)") }
            users.append(user)
        }
        var placeOfNode: [Int: Int] = [:]
        for (place, node) in order.prefix(trace.people.count).enumerated() { placeOfNode[node] = place }
        var watched: [[Int]] = []
        for node in order.prefix(trace.people.count) {
            let neighbours = graph.neighbours[node].map { neighbour in
                if let place = placeOfNode[neighbour] { return place }
                placeOfNode[neighbour] = users.count
                users.append(UserID("\(prefix)-node\(neighbour)")!)
                return users.count - 1
            }
            watched.append(neighbours.sorted())
        }
        self.users = users
        players = trace.people.count
        names = trace.people
        self.watched = watched
        companions = watched.map { Array($0.prefix(Self.mostCompanions)) }
        places = Dictionary(uniqueKeysWithValues: zip(users, users.indices))
    }

    /// Where in `users` somebody is.
    func place(of user: UserID) -> Int? { places[user] }
}
