import Foundation
import PresenceProtocol
import Testing

@testable import PresenceKit

/// An engine for tests, which supply inputs and times and check the engine's directives.
struct Bench {
    var engine: Engine
    var now = Moment(uptime: .zero, wall: Date(timeIntervalSince1970: 1_763_712_000))
    /// The directives of the last turn.
    private(set) var directives: [Directive] = []
    private var lastCall: UInt64 = 0
    private var lastObserver: UInt64 = 0

    /// The content of the storage, and whether it replies in the same turn.
    var writes: [QueuedWrite] = []
    var owner: String?
    var storageAnswers = true
    var storageFault: PresenceError?

    static let linger: Milliseconds = 10_000

    init(
        configuration: PresenceClient.Configuration = .init(), device: PresenceProtocol.Device = .init(),
        flaw: PresenceError? = nil, random: Double = 0.5
    ) {
        engine = Engine(configuration: configuration, device: device, flaw: flaw, random: { random })
    }

    // MARK: Inputs

    mutating func handle(_ input: Input) {
        handle([input])
    }

    /// Several inputs in one turn.
    mutating func handle(_ inputs: [Input]) {
        directives = (inputs + [.turnEnded]).flatMap { engine.handle($0, at: now) }
        if storageAnswers { store() }
    }

    /// Performs the storage directives of an earlier turn, and reports the results.
    mutating func `do`(_ earlier: [Directive]) {
        directives = earlier
        store()
    }

    /// Performs the storage directives, and reports the results.
    mutating func store() {
        var position = 0
        while position < directives.count {
            switch directives[position] {
            case .store(let write):
                if storageFault == nil { writes.append(write) }
                directives += engine.handle(.stored(write.id, storageFault), at: now)
                directives += engine.handle(.turnEnded, at: now)
            case .removeWrites(let ids):
                if storageFault == nil { writes.removeAll { ids.contains($0.id) } }
                directives += engine.handle(.removed(ids, storageFault), at: now)
                directives += engine.handle(.turnEnded, at: now)
            case .clearCache(_, andWrites: true): writes = []
            case .storeOwner(let user):
                owner = user
                writes.removeAll { $0.owner != user }
            default: break
            }
            position += 1
        }
    }

    mutating func receive(_ messages: ServerMessage...) {
        handle(messages.map { .received(engine.link.attempt, $0.encoded()) })
    }

    mutating func end(_ ending: Ending) {
        handle(.ended(engine.link.attempt, ending))
    }

    mutating func end(code: UInt16, reason: String = "") {
        end(.closed(code: CloseCode(rawValue: code), reason: Array(reason.utf8)))
    }

    /// Lets time pass, with a tick at each deadline of the engine.
    mutating func pass(_ duration: Duration) {
        let end = now.uptime + duration
        var all: [Directive] = []
        while let deadline = engine.nextDeadline, deadline <= end {
            advance(to: max(deadline, now.uptime))
            handle(.tick)
            all += directives
        }
        advance(to: end)
        directives = all
    }

    private mutating func advance(to uptime: Duration) {
        now.wall += (uptime - now.uptime).timeInterval
        now.uptime = uptime
    }

    mutating func open(_ topic: Topic) -> ObserverID {
        open([topic])[0]
    }

    /// Several observers in one turn.
    mutating func open(_ topics: [Topic]) -> [ObserverID] {
        let observers = topics.map { topic in
            lastObserver += 1
            return (id: ObserverID(number: lastObserver), topic: topic)
        }
        handle(observers.map { .observe($0.id, $0.topic) })
        return observers.map(\.id)
    }

    mutating func close(_ observer: ObserverID) {
        handle(.unobserve(observer))
    }

    @discardableResult
    private mutating func ask(_ input: (CallID) -> Input) -> CallID {
        lastCall += 1
        let id = CallID(number: lastCall)
        handle(input(id))
        return id
    }

    mutating func call(_ call: Call) -> CallID { ask { .call($0, call) } }

    @discardableResult mutating func disconnect() -> CallID { ask { .disconnect($0) } }
    @discardableResult mutating func signOut() -> CallID { ask { .signOut($0) } }
    @discardableResult mutating func switchUser() -> CallID { ask { .switchUser($0) } }
    @discardableResult mutating func clearCache() -> CallID { ask { .clearCache($0) } }

    /// From the start to `introducing`.
    mutating func dial(token: String = "t") {
        handle(.connect)
        if case .fetchingToken = engine.link.phase { handle(.token(engine.link.attempt, .success(token))) }
        handle(.opened(engine.link.attempt))
    }

    mutating func welcome(
        user: String = "ana", status: OwnStatus? = OwnStatus(), limits: ConnectionLimits = ConnectionLimits(),
        serverTime: Timestamp? = nil, linger: Milliseconds = Self.linger
    ) {
        let connected = ServerMessage.Connected(
            user: UserID(user)!, session: "s", serverTime: serverTime ?? now.timestamp, status: status,
            heartbeatInterval: 20_000, heartbeatTimeout: 10_000, linger: linger, limits: limits)
        receive(.connected(id: lastID, connected))
    }

    /// From the start to `connected`.
    mutating func connect(user: String = "ana", limits: ConnectionLimits = ConnectionLimits()) {
        dial()
        welcome(user: user, limits: limits)
    }

    /// From waiting to `connected`.
    mutating func comeBack() {
        pass(.seconds(1))
        handle(.opened(engine.link.attempt))
        welcome()
    }

    // MARK: Directives

    /// The messages sent in the last turn.
    var sent: [ClientMessage] {
        directives.compactMap { directive in
            guard case .send(let bytes) = directive else { return nil }
            return try? ClientMessage.decode(bytes)
        }
    }

    var bodies: [ClientMessage.Body] { sent.map(\.body) }

    /// The id of the newest request.
    var lastID: Int64 { engine.requests.lastID }

    func answer(to call: CallID) -> Result<Reply, PresenceError>? {
        for case .answer(call, let result) in directives { return result }
        return nil
    }

    func isDone(_ call: CallID) -> Bool {
        if case .success(.done) = answer(to: call) { true } else { false }
    }

    func isQueued(_ call: CallID) -> Bool {
        switch answer(to: call) {
        case .success(.queued), .success(.profile(.queued)): true
        default: false
        }
    }

    func error(of call: CallID) -> PresenceError? {
        guard case .failure(let error) = answer(to: call) else { return nil }
        return error
    }

    func people(of call: CallID) -> People? {
        guard case .success(.people(let people)) = answer(to: call) else { return nil }
        return people
    }

    var opens: Int { directives.count { if case .dial = $0 { true } else { false } } }
    var fetches: Int { directives.count { if case .fetchToken = $0 { true } else { false } } }
    var aborts: Int { directives.count { if case .abort = $0 { true } else { false } } }
    var closes: Int { directives.count { if case .close = $0 { true } else { false } } }
    var pings: Int { directives.count { if case .ping = $0 { true } else { false } } }
    var cacheClears: Int { directives.count { if case .clearCache = $0 { true } else { false } } }
    var clearings: [Clearing] {
        directives.compactMap { if case .clearCache(let clearing, _) = $0 { clearing } else { nil } }
    }
    var cacheReads: [[UserID]] {
        directives.compactMap { if case .readCache(let users) = $0 { users } else { nil } }
    }
    var cacheWrites: [CachedPerson] {
        directives.flatMap { directive -> [CachedPerson] in
            if case .writeCache(let people) = directive { people } else { [] }
        }
    }
    var logged: [String] {
        directives.compactMap { if case .log(_, let message) = $0 { message } else { nil } }
    }
    var woken: Set<ObserverID> {
        Set(
            directives.flatMap { directive -> [ObserverID] in
                if case .wake(let observers) = directive { observers } else { [] }
            })
    }
}

extension Moment {
    var timestamp: Timestamp { Timestamp((wall.timeIntervalSince1970 * 1_000).rounded()) }
}

extension QueuedWrite {
    /// A stored profile change.
    init(_ changes: PresenceProtocol.ProfileChanges, id: String, owner: UserID?, at date: Date) {
        let body = KeptProfile(changes: changes, number: 0).encoded(at: Moment(uptime: .zero, wall: date))
        self.init(id: id, owner: owner?.string, lane: "profile", kind: "profile", body: body, queuedAt: date)
    }

    var profileChanges: KeptProfile? { KeptProfile(stored: body, at: Moment(uptime: .zero, wall: queuedAt)) }
}

extension Identifier: ExpressibleByStringLiteral {
    public init(stringLiteral value: String) {
        self.init(value)!
    }
}

extension UserSnapshot {
    static func online(_ user: UserID, _ version: Int64, name: String? = nil) -> UserSnapshot {
        UserSnapshot(
            user: user, presence: Presence(version: version, status: .online, since: version, devices: [.phone]),
            profile: name.map { .profile(Profile(version: version, displayName: $0)) } ?? ProfileRegister.none)
    }

    static func unknown(_ user: UserID) -> UserSnapshot {
        UserSnapshot(user: user, presence: .unknown, profile: ProfileRegister.none)
    }
}

extension ServerMessage {
    static func answer(_ id: Int64, _ users: UserSnapshot..., more: Bool = false) -> ServerMessage {
        .subscribed(id: id, users: users, conversations: [], more: more)
    }

    static func event(_ user: UserID, _ version: Int64, _ status: PresenceStatus = .online, at: Timestamp? = nil)
        -> ServerMessage
    {
        .presence(user: user, Presence(version: version, status: status, since: version), at: at)
    }

    static func event(_ user: UserID, _ version: Int64, name: String) -> ServerMessage {
        .profile(user: user, .profile(Profile(version: version, displayName: name)), at: nil)
    }

    static func refusal(
        _ id: Int64?, _ code: ErrorCode, field: String? = nil, reason: String? = nil, retryAfter: Milliseconds? = nil,
        outcomeUnknown: Bool = false
    ) -> ServerMessage {
        .error(
            ErrorMessage(
                id: id, code: code, message: "no", field: field, reason: reason, retryAfter: retryAfter,
                outcomeUnknown: outcomeUnknown))
    }
}
