import Foundation
import PresenceProtocol

@testable import PresenceKit

/// An engine with a model of its storage, its app and the server, each of which may be slow or fail.
struct WriteWorld {
    enum Field: Hashable { case name, photo, text }
    struct Slot: Hashable { let user: String; let field: Field }
    struct Made { let number: Int; let owner: String?; let slots: [Field]; let call: CallID }

    let users: [String]
    let faults: Bool
    let seed: UInt64
    var random: SeededGenerator
    var engine = Engine(configuration: .init(), device: .init(), random: { 0.3 })
    var now = Moment(uptime: .zero, wall: Date(timeIntervalSince1970: 1_763_712_000))
    var lastCall: UInt64 = 0
    var lastValue = 0
    // The disk.
    var owner: String?
    var writes: [QueuedWrite] = []
    var operations: [Directive] = []
    // The line.
    var line: Attempt?
    var fetches: [Attempt] = []
    var dialled = false
    var lineUser: String?
    var toServer: [ClientMessage] = []
    var toClient: [ServerMessage] = []
    var isThere = true
    var appUser: String
    // The server.
    var server: [Slot: Int] = [:]
    // The promises.
    var pending: [CallID: Made] = [:]
    /// Those whose call returned that they are queued.
    var promised: Set<Int> = []
    /// The user whom the server confirmed in this process.
    var confirmed: String?
    var owners: [Int: String?] = [:]
    var forbidden: Set<Int> = []
    /// The values that the server may have in the end; missing after the user's data was deleted.
    var possible: [Slot: Set<Int>] = [:]
    /// Those whose calls failed with an unknown outcome, or whose user was unknown.
    var unsure: [Slot: Set<Int>] = [:]
    var trace: [String] = []
    var issues: [String] = []

    init(seed: UInt64, users: [String], faults: Bool) {
        (self.seed, self.users, self.faults, appUser) = (seed, users, faults, users[0])
        random = SeededGenerator(state: seed)
        for user in users {
            for field in [Field.name, .photo, .text] { possible[Slot(user: user, field: field)] = [0] }
        }
        handle(.recalled(nil, []))
        handle(.connect)
    }

    mutating func log(_ text: String) { trace.append(text) }

    func chance(_ percent: Int, _ random: inout SeededGenerator) -> Bool {
        Int.random(in: 0..<100, using: &random) < percent
    }

    mutating func handle(_ input: Input) {
        var directives = engine.handle(input, at: now)
        directives += engine.handle(.turnEnded, at: now)
        perform(directives)
    }

    mutating func perform(_ directives: [Directive]) {
        for directive in directives {
            switch directive {
            case .fetchToken(let attempt, _): fetches.append(attempt)
            case .cancelFetch: fetches = []
            case .dial(let attempt):
                (line, lineUser, toServer, toClient) = (attempt, nil, [], [])
                dialled = true
            case .send(let bytes): if let message = try? ClientMessage.decode(bytes) { toServer.append(message) }
            case .close, .abort: (line, lineUser, toServer, toClient) = (nil, nil, [], [])
            case .answer(let call, let result): answered(call, result)
            case .store, .removeWrites, .storeOwner, .clearCache: operations.append(directive)
            default: break
            }
        }
    }

    /// The token provider and the dialler.
    mutating func move() {
        if let attempt = fetches.popLast() {
            fetches = []
            let claims = Data(#"{"sub":"\#(appUser)"}"#.utf8).base64EncodedString().replacing("=", with: "")
            log("token fetched \(appUser)")
            handle(.token(attempt, .success("e30.\(claims).c2ln")))
        } else if dialled, let line {
            dialled = false
            if isThere { handle(.opened(line)) } else { end(.lost("away")) }
        }
    }

    mutating func end(_ ending: Ending) {
        guard let attempt = line else { return }
        (line, lineUser, toServer, toClient, dialled) = (nil, nil, [], [], false)
        handle(.ended(attempt, ending))
    }

    mutating func breakDown() {
        log("break")
        end(chance(40, &random) ? .closed(code: .tokenExpired, reason: []) : .lost("cable"))
    }

    mutating func work() {
        guard line != nil, !dialled, !toServer.isEmpty else { return }
        let message = toServer.removeFirst()
        let isBad = faults && chance(20, &random)
        let bad = ServerMessage.refusal(
            message.id, chance(50, &random) ? .rateLimited : .unavailable, retryAfter: 500)
        switch message.body {
        case .connect(let connect):
            let user = TokenSubject.user(of: connect.token ?? "")!
            lineUser = user.string
            if let status = connect.status { apply(status) }
            log("server: connected \(user.string) with \(String(describing: connect.status?.text))")
            toClient.append(
                .connected(
                    id: message.id,
                    .init(
                        user: user, session: "s", serverTime: now.timestamp, status: OwnStatus(),
                        heartbeatInterval: 20_000, heartbeatTimeout: 10_000, linger: 10_000, limits: ConnectionLimits())
                ))
        case .status(let change):
            if isBad { return toClient.append(bad) }
            apply(change)
            toClient.append(.ok(id: message.id!))
        case .updateProfile(let changes):
            if isBad { return toClient.append(bad) }
            if case .set(let text) = changes.displayName { set(.name, Int(text)!) }
            if case .set(let text) = changes.photoURL { set(.photo, Int(text.split(separator: "/").last!)!) }
            toClient.append(.profileUpdated(id: message.id, Profile(version: 1, displayName: "x")))
        default: break
        }
    }

    mutating func apply(_ change: StatusChange) { if case .set(let text) = change.text { set(.text, Int(text)!) } }

    mutating func set(_ field: Field, _ value: Int) {
        let user = lineUser!
        log("server: \(user).\(field) = \(value)")
        if let owner = owners[value]!, owner != user {
            // A call without an answer, from before the token was known.
            if promised.contains(value) { issues.append("\(value) of \(owner) was sent as \(user)") }
            possible[Slot(user: user, field: field)]?.insert(value)
        }
        if forbidden.contains(value) { issues.append("\(value) was made although its call failed") }
        server[Slot(user: user, field: field)] = value
    }

    mutating func deliver() {
        guard let attempt = line, !toClient.isEmpty else { return }
        let message = toClient.removeFirst()
        if case .connected(_, let connected) = message {
            let user = connected.user.string
            log("client: connected \(user)")
            confirmed = user
            for other in users where other != user {
                for field in [Field.name, .photo, .text] { possible[Slot(user: other, field: field)] = nil }
            }
        }
        handle(.received(attempt, message.encoded()))
    }

    mutating func operate(all: Bool = false, mayFail: Bool = true) {
        repeat {
            guard !operations.isEmpty else { return }
            let operation = operations.removeFirst()
            let fails = faults && mayFail && chance(20, &random)
            let error = fails ? PresenceError(.storageFailed, "disk") : nil
            switch operation {
            case .store(let write):
                if !fails { writes.append(write) }
                log(
                    "disk: store \(write.lane) of \(write.owner ?? "-") \(String(decoding: write.body, as: UTF8.self)) \(fails ? "FAILS" : "")"
                )
                handle(.stored(write.id, error))
            case .removeWrites(let ids):
                if !fails { writes.removeAll { ids.contains($0.id) } }
                log("disk: remove \(ids.count) \(fails ? "FAILS" : "")")
                handle(.removed(ids, error))
            case .storeOwner(let user):
                if !fails {
                    owner = user
                    writes.removeAll { $0.owner != user }
                }
            case .clearCache(let clearing, let andWrites):
                log("disk: clear \(andWrites)")
                if andWrites { (owner, writes) = (nil, []) }
                handle(.cacheCleared(clearing))
            default: break
            }
        } while all
    }

    mutating func pass(_ duration: Duration) {
        let end = now.uptime + duration
        var rounds = 0
        while let deadline = engine.nextDeadline, deadline <= end {
            rounds += 1
            if rounds > 500 { issues.append("busy loop"); break }
            let target = max(deadline, now.uptime)
            now.wall += (target - now.uptime).timeInterval
            now.uptime = target
            handle(.tick)
        }
        now.wall += (end - now.uptime).timeInterval
        now.uptime = end
        if let line, lineUser != nil { handle(.alive(line)) }
    }

    mutating func restart() {
        log("RESTART owner \(owner ?? "-") writes \(writes.count)")
        for made in pending.values { mayBe(made) }
        (pending, confirmed) = ([:], nil)
        (operations, fetches, line, lineUser, toServer, toClient, dialled) = ([], [], nil, nil, [], [], false)
        engine = Engine(configuration: .init(), device: .init(), random: { 0.3 })
        handle(.recalled(owner.flatMap { UserID($0) }, writes))
        handle(.connect)
    }
}
