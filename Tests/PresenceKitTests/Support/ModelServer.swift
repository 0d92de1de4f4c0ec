import PresenceProtocol

@testable import PresenceKit

/// A minimal server for an engine in tests: it follows the protocol's rules, and delivers everything late.
struct ModelServer {
    private(set) var people: [UserID: UserSnapshot] = [:]
    private var lastVersion: Int64 = 1

    /// The connection with the messages in flight in both directions; `nil` while there is none.
    private(set) var line: Line?

    struct Line {
        let attempt: Attempt
        var toServer: [ClientMessage] = []
        var toClient: [ServerMessage] = []
        var subscribed: Set<UserID> = []
        var isStale = false
    }

    var isQuiet: Bool { line.map { $0.toServer.isEmpty && $0.toClient.isEmpty } ?? true }

    func truth(of user: UserID) -> UserSnapshot { people[user] ?? .unknown(user) }

    mutating func open(_ attempt: Attempt) { line = Line(attempt: attempt) }
    mutating func drop() { line = nil }
    mutating func receive(_ message: ClientMessage) { line?.toServer.append(message) }

    // MARK: Changes

    mutating func changePresence(of user: UserID, to status: PresenceStatus) {
        lastVersion += 1
        var snapshot = truth(of: user)
        snapshot.presence = Presence(version: lastVersion, status: status, since: lastVersion)
        publish(snapshot, .presence(user: user, snapshot.presence!, at: lastVersion))
    }

    mutating func changeProfile(of user: UserID) {
        lastVersion += 1
        var snapshot = truth(of: user)
        snapshot.profile = .profile(Profile(version: lastVersion, displayName: "\(lastVersion)"))
        publish(snapshot, .profile(user: user, snapshot.profile!, at: lastVersion))
    }

    /// The client may no longer see this user.
    mutating func hide(_ user: UserID) {
        publish(.unknown(user), .presence(user: user, .unknown, at: nil))
        publish(.unknown(user), .profile(user: user, .none, at: nil))
    }

    private mutating func publish(_ snapshot: UserSnapshot, _ event: ServerMessage) {
        people[snapshot.user] = snapshot
        if line?.subscribed.contains(snapshot.user) == true { line?.toClient.append(event) }
    }

    mutating func toggleStale() {
        guard line != nil else { return }
        line!.isStale.toggle()
        line!.toClient.append(line!.isStale ? .stale(since: lastVersion) : .live)
    }

    mutating func becomeLive() {
        if line?.isStale == true { toggleStale() }
    }

    // MARK: Replies

    /// Handles one message of the client. `isAble`: whether the store can be reached.
    mutating func work(isAble: Bool, limits: ConnectionLimits) {
        guard line?.toServer.isEmpty == false else { return }
        let message = line!.toServer.removeFirst()
        for answer in answers(to: message, isAble: isAble, limits: limits) { line!.toClient.append(answer) }
    }

    private mutating func answers(to message: ClientMessage, isAble: Bool, limits: ConnectionLimits) -> [ServerMessage]
    {
        let id = message.id
        switch message.body {
        case .connect:
            let connected = ServerMessage.Connected(
                user: "ana", session: "s", serverTime: 1_763_712_000_000, status: OwnStatus(),
                heartbeatInterval: 20_000, heartbeatTimeout: 10_000, linger: 10_000, limits: limits)
            return [.connected(id: id, connected)]
        case .subscribe(let request):
            if !isAble { return [.refusal(id, .unavailable, retryAfter: 300)] }
            let all = line!.subscribed.union(request.users)
            guard all.count <= limits.subscriptions, request.users.count <= limits.subscribeBatch else {
                return [.refusal(id, .tooMany)]
            }
            line!.subscribed = all
            let news = request.users.compactMap { unheld(of: $0, known: request.known[$0]) }
            return parts(news) { .subscribed(id: id, users: $0, conversations: [], more: $1) }
        case .unsubscribe(let users, _, _, _):
            line!.subscribed.subtract(users)
            return [.unsubscribed(id: id)]
        case .get(let users):
            if !isAble { return [.refusal(id, .unavailable, retryAfter: 300)] }
            return parts(users.map(truth(of:))) { .users(id: id, $0, more: $1) }
        default:
            return id.map { [.ok(id: $0)] } ?? []
        }
    }

    /// The registers that the client does not have.
    private func unheld(of user: UserID, known: ClientMessage.KnownVersions?) -> UserSnapshot? {
        var snapshot = truth(of: user)
        if let version = known?.presence, version == snapshot.presence?.version { snapshot.presence = nil }
        if let version = known?.profile, version == snapshot.profile?.version { snapshot.profile = nil }
        return snapshot.presence == nil && snapshot.profile == nil ? nil : snapshot
    }

    private func parts(_ users: [UserSnapshot], _ part: ([UserSnapshot], Bool) -> ServerMessage) -> [ServerMessage] {
        guard users.count > 1 else { return [part(users, false)] }
        let half = users.count / 2
        return [part(Array(users[..<half]), true), part(Array(users[half...]), false)]
    }

    /// The next message for the client.
    mutating func deliver() -> Input? {
        guard line?.toClient.isEmpty == false else { return nil }
        return .received(line!.attempt, line!.toClient.removeFirst().encoded())
    }
}
