import PresenceProtocol

/// The state that every client shows of everyone whom it watches: thirteen bytes each.
///
/// A client watches other clients, by their `Ring`, and some bystanders. Once all clients are back, the state of a
/// client is right if it is `online`.
struct StormScreens {
    let ring: Ring
    let clients: NumberedUsers
    let bystanders: NumberedUsers
    /// Each client watches this many bystanders, out of this many.
    let bystandersWatched: Int
    let bystanderCount: Int
    /// Pairs of a client and another one that it does not show as online.
    private(set) var wrong: Int
    /// The version in every pair, -1 for none.
    private var versions: [Int64]
    private var isOnline: [Bool]
    /// The number in a bystander's text.
    private var numbers: [Int32]

    init(
        ring: Ring, clients: NumberedUsers, bystanders: NumberedUsers, bystandersWatched: Int, bystanderCount: Int
    ) {
        self.ring = ring
        self.clients = clients
        self.bystanders = bystanders
        self.bystandersWatched = bystandersWatched
        self.bystanderCount = bystanderCount
        let pairs = ring.total * (ring.strides.count + bystandersWatched)
        wrong = ring.total * ring.strides.count
        versions = Array(repeating: -1, count: pairs)
        isOnline = Array(repeating: false, count: pairs)
        numbers = Array(repeating: 0, count: pairs)
    }

    private var width: Int { ring.strides.count + bystandersWatched }

    private func bystander(_ place: Int, of client: Int) -> Int { (client + place) % bystanderCount }

    /// The subscription of `client`, with its versions.
    func subscription(of client: Int) -> ClientMessage.Subscribe {
        let others = ring.watched(by: client).map(clients.user)
        let users = others + (0..<bystandersWatched).map { bystanders.user(bystander($0, of: client)) }
        var subscribe = ClientMessage.Subscribe(users: users)
        for (place, user) in users.enumerated() where versions[client * width + place] >= 0 {
            // None of them has a profile.
            subscribe.known[user] = .init(presence: versions[client * width + place], profile: 0)
        }
        return subscribe
    }

    /// Handles a register in an answer, which replaces the present one.
    mutating func apply(_ snapshot: UserSnapshot, by client: Int) {
        guard let presence = snapshot.presence, let pair = pair(snapshot.user, client) else { return }
        hold(presence, pair)
    }

    /// Handles a register in an event, which replaces an older one.
    mutating func apply(_ event: Presence, of user: UserID, by client: Int) {
        guard let pair = pair(user, client), event.version == 0 || event.version > versions[pair] else { return }
        hold(event, pair)
    }

    /// Whether `client` shows all others as online, and its bystanders with their newest texts.
    func isRight(_ client: Int, newest: [Int]) -> Bool {
        let first = client * width
        return isOnline[first..<first + width].allSatisfy { $0 }
            && (0..<bystandersWatched).allSatisfy { place in
                Int(numbers[first + ring.strides.count + place]) == newest[bystander(place, of: client)]
            }
    }

    private func pair(_ user: UserID, _ client: Int) -> Int? {
        if let number = clients.number(of: user) {
            return ring.place(of: number, for: client).map { client * width + $0 }
        }
        guard let number = bystanders.number(of: user) else { return nil }
        let place = (number - client % bystanderCount + bystanderCount) % bystanderCount
        return place < bystandersWatched ? client * width + ring.strides.count + place : nil
    }

    private mutating func hold(_ presence: Presence, _ pair: Int) {
        versions[pair] = presence.version
        numbers[pair] = Int32(truncatingIfNeeded: NumberedText.number(in: presence.text))
        let online = presence.status == .online
        if online != isOnline[pair], pair % width < ring.strides.count { wrong += online ? -1 : 1 }
        isOnline[pair] = online
    }
}
