import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import PresenceKit

/// In whatever order events happen, after a quiet moment every loop has the server's values, shown as live.
@Suite struct RandomHistoryTests {
    @Test(arguments: 1...60) func `after every quiet moment all loops have the server's values`(seed: Int) {
        var history = History(seed: UInt64(seed))
        for _ in 0..<4 {
            for _ in 0..<250 { history.step() }
            history.comeToRest()
            history.check()
        }
    }
}

/// One engine, one server, and the messages between them.
private struct History {
    private static let users: [UserID] = (0..<8).map { UserID("u\($0)")! }
    private static let limits = ConnectionLimits(subscriptions: 8, subscribeBatch: 3)

    private var bench: Bench
    private var server = ModelServer()
    private var random: SeededGenerator
    /// The last values of each loop, by user.
    private var loops: [ObserverID: (topic: Topic, shown: [UserID: Person])] = [:]
    private var calls: Set<CallID> = []
    private var cache: [UserID: CachedPerson] = [:]
    private let seed: UInt64

    init(seed: UInt64) {
        self.seed = seed
        random = SeededGenerator(state: seed)
        bench = Bench(random: 0.3)
        bench.handle(.connect)
        perform()
    }

    // MARK: Events

    mutating func step() {
        let user = Self.users.randomElement(using: &random)!
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<15: server.changePresence(of: user, to: PresenceStatus.allCases.randomElement(using: &random)!)
        case 15..<22: server.changeProfile(of: user)
        case 22..<24: server.hide(user)
        case 24..<42: server.work(isAble: Int.random(in: 0..<8, using: &random) > 0, limits: Self.limits)
        case 42..<66: if let input = server.deliver() { handle(input) }
        case 66..<72: open(user)
        case 72..<77: close()
        case 77..<87: read()
        case 87..<91: pass(.milliseconds(Int.random(in: 1...2_000, using: &random)))
        case 91..<93: server.toggleStale()
        case 93..<95: breakDown()
        case 95..<96:
            bench.handle(.reconnect)
            perform()
        case 96..<97:
            bench.handle(Bool.random(using: &random) ? .background : .foreground)
            perform()
        default:
            calls.insert(bench.call(.get([user, Self.users[0]])))
            perform()
        }
    }

    private mutating func open(_ user: UserID) {
        let topics: [Topic] = [
            .presence(user), .profile(user), .user(user),
            .roster(Self.users.shuffled(using: &random).prefix(5).map(\.string)),
        ]
        let topic = topics.randomElement(using: &random)!
        loops[bench.open(topic)] = (topic, [:])
        perform()
    }

    private mutating func close() {
        guard let loop = loops.keys.sorted(by: { $0.number < $1.number }).randomElement(using: &random) else { return }
        loops[loop] = nil
        bench.close(loop)
        perform()
    }

    private mutating func breakDown() {
        guard let line = server.line else { return }
        server.drop()
        let endings: [Ending] = [
            .lost("cable"), .closed(code: .tooSlow, reason: []), .closed(code: .tokenExpired, reason: []),
            .closed(code: .serviceRestart, reason: Array(#"{"reconnectAfter":50}"#.utf8)),
        ]
        handle(.ended(line.attempt, endings.randomElement(using: &random)!))
    }

    private mutating func pass(_ duration: Duration) {
        bench.pass(duration)
        perform()
    }

    private mutating func handle(_ input: Input) {
        bench.handle(input)
        perform()
    }

    /// Performs the engine's directives, and their consequences.
    private mutating func perform() {
        var directives = bench.directives
        while !directives.isEmpty {
            var inputs: [Input] = []
            for directive in directives {
                switch directive {
                case .fetchToken(let attempt, _): inputs.append(.token(attempt, .success("t")))
                case .dial(let attempt):
                    server.open(attempt)
                    inputs.append(.opened(attempt))
                case .send(let bytes):
                    if let message = try? ClientMessage.decode(bytes) {
                        server.receive(message)
                    } else {
                        Issue.record("\(bytes)")
                    }
                case .ping: if let line = server.line { inputs.append(.alive(line.attempt)) }
                case .close, .abort: server.drop()
                case .answer(let call, _): calls.remove(call)
                case .readCache(let users): inputs.append(.cached(users.compactMap { cache[$0] }))
                case .writeCache(let people): for person in people { cache[UserID(person.user)!] = person }
                case .clearCache(let clearing, _):
                    cache = [:]
                    inputs.append(.cacheCleared(clearing))
                case .wake, .cancelFetch, .log, .store, .removeWrites, .storeOwner, .handOver, .tell: break
                }
            }
            directives = []
            if !inputs.isEmpty {
                bench.handle(inputs)
                directives = bench.directives
            }
        }
    }

    // MARK: Observing

    /// Lets some loops read.
    private mutating func read() {
        for loop in loops.keys.sorted(by: { $0.number < $1.number }) where Bool.random(using: &random) { read(loop) }
    }

    private mutating func read(_ loop: ObserverID) {
        let stale = Freshness.stale(since: .distantPast)
        switch loops[loop]!.topic {
        case .presence(let user):
            guard let presence = bench.engine.nextPresence(loop) else { return }
            loops[loop]!.shown[user] = Person(presence: presence, profile: PersonProfile(user: "", freshness: stale))
        case .profile(let user):
            guard let profile = bench.engine.nextProfile(loop) else { return }
            let presence = PersonPresence(user: "", freshness: profile.freshness)
            loops[loop]!.shown[user] = Person(presence: presence, profile: profile)
        case .user(let user):
            guard let person = bench.engine.nextPerson(loop) else { return }
            loops[loop]!.shown[user] = person
        case .roster:
            guard let roster = bench.engine.nextRoster(loop) else { return }
            // Only the named users are updated, because an app may redraw only those.
            for user in roster.changed { loops[loop]!.shown[UserID(user)!] = roster[user] }
        case .typing, .connection, .me, .ownStatus, .contactRequests, .keptProfile: break
        }
    }

    /// Delivers all messages, and lets time pass until all retries are done.
    mutating func comeToRest() {
        for _ in 0..<400 {
            server.becomeLive()
            while !server.isQuiet {
                server.work(isAble: true, limits: Self.limits)
                while let input = server.deliver() { handle(input) }
            }
            pass(.milliseconds(100))
            if let line = server.line { handle(.alive(line.attempt)) }
        }
        for loop in loops.keys { read(loop) }
    }

    func check() {
        expect(bench.engine.link.state, equals: .live, "seed \(seed)")
        expect(calls.isEmpty, "seed \(seed): calls without an answer")
        expect(server.line?.subscribed, equals: Set(bench.engine.watchlist.people.ids), "seed \(seed)")
        expect(bench.engine.watchlist.subscriptions, equals: bench.engine.watchlist.people.count, "seed \(seed)")
        for (topic, shown) in loops.values {
            for user in topic.users {
                let truth = server.truth(of: user)
                guard let person = shown[user] else {
                    Issue.record("seed \(seed): \(topic) does not show \(user)")
                    continue
                }
                expect(person.freshness, equals: .live, "seed \(seed): \(topic) \(user)")
                if case .profile = topic {
                } else {
                    expect(person.presence.version, equals: truth.presence?.version, "seed \(seed): \(topic) \(user)")
                    expect(
                        person.presence.status, equals: truth.presence.map { PresenceKit.PresenceStatus($0.status) },
                        "seed \(seed): \(topic) \(user)")
                }
                if case .presence = topic {
                } else {
                    expect(person.profile.version, equals: truth.profile?.version, "seed \(seed): \(topic) \(user)")
                }
            }
        }
    }
}

/// SplitMix64: the same numbers for the same seed.
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var bits = state
        bits = (bits ^ (bits >> 30)) &* 0xbf58_476d_1ce4_e5b9
        bits = (bits ^ (bits >> 27)) &* 0x94d0_49bb_1331_11eb
        return bits ^ (bits >> 31)
    }
}
