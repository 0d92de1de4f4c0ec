import PresenceProtocol

/// The actors of a replay: the people of the trace, each at a node of the graph, and their neighbours outside the
/// trace. The same trace and graph give the same cast.
struct Cast {
    /// First the people of the trace, in its order, then those who are only watched.
    let users: [UserID]
    /// The number of people of the trace in `users`.
    let players: Int
    /// The players' names in the trace.
    let names: [String]
    /// The people that each player watches, as increasing indices of `users`: their neighbours in the graph.
    let watched: [[Int]]
    /// The people with whom each player talks: up to nine of their neighbours, those of the trace first.
    let companions: [[Int]]

    /// A conversation has 2 to 10 participants.
    static let mostCompanions = 9

    private let places: [UserID: Int]

    /// - Parameter prefix: the beginning of every id, which separates runs on one server.
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

    /// The index of a person in `users`.
    func place(of user: UserID) -> Int? { places[user] }
}
