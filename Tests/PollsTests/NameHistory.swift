import PresenceProtocol
import Redis

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// A random history of polls that take, change and release names, on three servers with the real scripts and a real
/// Redis. Between any two steps the server of the first one may die, lose its connections, pause, or be late by
/// seconds. Every server sweeps, so several servers execute an intent at the same time.
///
/// After each script: each name in use belongs to its poll, and no poll is without a name between two names. Answers
/// are compared with the states of that time. At the end, when all is quiet: claims and records refer to each other,
/// and no intent is left.
final class NameHistory: DrawnHistory {
    static let features = Features.all + [PollNames.self]
    static let polls = ["p-ana", "p-bob", "p-cy", "p-dan", "p-eve"].map { Identifier($0)! }
    /// These polls never release a name: once they have one, they must never be shown without.
    static let faithful = Set(polls.prefix(2))
    static let names = ["Soup", "soup", "Pie", "Rice", "rice", "Fig"]
    static let things = ["soup", "pie", "rice", "fig"].map { Identifier($0)! }

    let world: World
    private let redis: SimulatedRedis
    private var random: SplitMix64
    private let pause: Milliseconds
    /// The number of scripts in 100 that are followed by a fault.
    private let trouble: Int
    private var isQuiet = false
    private var fault: HistoryFault?
    private var clients: [SimulatedClient] = []
    private var deaths = 0
    private var answers = 0
    private var refusals = 0
    /// Takeovers of orphaned claims.
    private var orphans = 0
    var tally: [String: Int] { ["deaths": deaths, "answers": answers, "refusals": refusals, "orphans": orphans] }

    private struct Held: Equatable {
        var thing: String?
        var shown: String?
        var claim: String?
        var wish: String?
        var wanted: String?
    }
    private var held: [Identifier: Held] = [:]
    /// The name of each poll and the owner of each name, with the time of each change.
    private var shownLog: [(time: Milliseconds, poll: Identifier, shown: String?)] = []
    private var ownerLog: [(time: Milliseconds, thing: Identifier, owner: String?)] = []

    private struct Request {
        let poll: Identifier
        let name: String?
        let sent: Milliseconds
    }
    private var requests: [Int: Request] = [:]
    private var lastRequest = 0
    /// The number of each client's messages that were checked.
    private var read: [ObjectIdentifier: Int] = [:]
    private var seenNamed: [ObjectIdentifier: Set<Identifier>] = [:]

    init(seed: UInt64, on redis: SimulatedRedis) throws {
        random = SplitMix64(seed &* 0x9E37_79B9 &+ 5)
        pause = Milliseconds.random(in: 100...4_000, using: &random)
        trouble = [3, 8, 15, 25].randomElement(using: &random)!
        self.redis = redis
        world = try World(shards: 3, seed: seed, redis: redis, features: Self.features)
        for poll in Self.polls { held[poll] = Held() }
        redis.ran = { [unowned self] script, arguments, _ in ran(script, arguments) }
        world.shards.forEach(hasten)
    }

    private func hasten(_ shard: SimulatedShard) { shard.logic.intents.pause = pause }

    private func draw(_ range: ClosedRange<Milliseconds>) -> Milliseconds { .random(in: range, using: &random) }

    // MARK: Course

    func play() throws {
        for place in 0..<3 { try addClient(place) }
        for _ in 0..<30 {
            step()
            try world.run(for: draw(0...1) == 0 ? draw(0...12) : draw(0...1_500))
            try check()
        }
        try quieten()
        try checkQuiet()
    }

    private func step() {
        guard let client = clients.filter(\.isConnected).randomElement(using: &random) else {
            return (0..<3).forEach { connect(clients[$0], $0) }
        }
        let poll = Self.polls.randomElement(using: &random)!
        lastRequest += 1
        let isGift = draw(0...3) == 0 && !Self.faithful.contains(poll)
        let name = isGift ? nil : Self.names.randomElement(using: &random)!
        requests[lastRequest] = Request(poll: poll, name: name, sent: world.now)
        if let name {
            client.sendText(#"{"type":"namePoll","id":\#(lastRequest),"poll":"\#(poll.string)","name":"\#(name)"}"#)
        } else {
            client.sendText(#"{"type":"unnamePoll","id":\#(lastRequest),"poll":"\#(poll.string)"}"#)
        }
        for (place, client) in clients.enumerated() where !client.isConnected { connect(client, place) }
    }

    private func addClient(_ place: Int) throws {
        let client = try SimulatedClient("voter-\(place)", in: world).connect(to: world.shards[place])
        clients.append(client)
        watch(client)
    }

    private func connect(_ client: SimulatedClient, _ place: Int) {
        client.dial(world.shards[place])
        watch(client)
    }

    private func watch(_ client: SimulatedClient) {
        for poll in Self.polls {
            client.sendText(#"{"type":"watchPollName","id":1000000,"poll":"\#(poll.string)"}"#)
        }
    }

    // MARK: After each script

    private func ran(_ script: Script, _ arguments: [String]) {
        guard script == PollNames.names.change || Script.claims.contains(script) else { return }
        // The other scripts change none of the state that is checked.
        if ![.claimState, .claimLook, .claimConfirm].contains(script) { record() }
        guard !isQuiet, draw(0...99) < trouble,
            let place = world.shards.firstIndex(where: { $0.logic.link.incarnation == arguments[2] })
        else { return }
        deaths += 1
        world.after(0) { [unowned self] in harm(place) }
    }

    private func harm(_ place: Int) {
        let shard = world.shards[place]
        guard !shard.isDead, !isQuiet else { return }
        switch draw(0...6) {
        case 0, 1:
            shard.die()
            world.replaceShard(at: place)
            hasten(world.shards[place])
        case 2: shard.cut(.commands)
        case 3: shard.cutAll()
        case 4, 5: shard.hold(.commands, for: draw(100...4_500))
        default:
            shard.stop()
            world.after(draw(10...4_000)) { shard.wakeUp() }
        }
    }

    private func record() {
        for poll in Self.polls {
            let keys = Partitions(world.configuration, database: 0).keys(of: poll)
            let key = PollNames.names.record(of: poll, in: keys)
            let words = texts(["HMGET", key, "held", "heldAs", "claim", "wish", "wanted"])
            let now = Held(
                thing: words[0], shown: words[1] ?? words[0], claim: words[2], wish: words[3], wanted: words[4])
            let before = held[poll]!
            if now.shown != before.shown { shownLog.append((world.now, poll, now.shown)) }
            if before.thing != nil, now.thing == nil, now.wish != now.claim || now.wanted != nil {
                fail("\(poll) has no name, and did not give it up")
            }
            held[poll] = now
        }
        let holders = Dictionary(grouping: Self.polls.filter { held[$0]!.thing != nil }) { held[$0]!.thing! }
        for thing in Self.things {
            let claim = claim(on: thing)
            if claim?.owner != ownerLog.last(where: { $0.thing == thing })?.owner {
                ownerLog.append((world.now, thing, claim?.owner))
            }
            guard let mine = holders[thing.string] else { continue }
            if mine.count > 1 { fail("\(thing) is the name of \(mine)") }
            for poll in mine {
                let number = Int(held[poll]!.claim ?? "") ?? 0
                if claim?.owner != poll.string || claim!.number < number {
                    fail("\(poll) is called \(thing), by number \(number), and the claim says \(claim as Any)")
                }
            }
        }
    }

    private func claim(on thing: Identifier) -> (owner: String, number: Int)? {
        let keys = Partitions(world.configuration, database: 0).keys(of: thing)
        let key = PollNames.names.claims(on: thing, in: keys)
        guard let words = (try? redis.ask(["HGET", key, thing.string]).get())?.string?.split(separator: " "),
            words.count == 2
        else {
            return nil
        }
        return (String(words[0]), Int(words[1]) ?? 0)
    }

    private func texts(_ words: [String]) -> [String?] {
        ((try? redis.ask(words).get())?.array ?? []).map(\.string)
    }

    private func fail(_ text: String) { fault = fault ?? HistoryFault(description: "at \(world.now): \(text)") }

    // MARK: Messages to clients

    private func check() throws {
        for client in clients {
            let known = ObjectIdentifier(client)
            for text in client.texts[(read[known] ?? 0)...] { receive(text, by: known) }
            read[known] = client.texts.count
        }
        if let fault { throw fault }
    }

    private func receive(_ text: String, by client: ObjectIdentifier) {
        if text.hasPrefix(#"{"type":"pollName","#) {
            guard let poll = Self.polls.first(where: { text.contains("\"\($0)\"") }) else { return }
            if text.contains(#""name":"#) {
                seenNamed[client, default: []].insert(poll)
            } else if Self.faithful.contains(poll), seenNamed[client]?.contains(poll) == true {
                fail("\(poll) is seen without a name")
            }
        }
        guard let start = text.firstRange(of: #""id":"#)?.upperBound,
            let id = Int(text[start...].prefix(while: \.isNumber)), let request = requests[id]
        else { return }
        if text.contains("pollNamed") {
            answers += 1
            requests[id] = nil
            if !wasShown(request.name, by: request.poll, since: request.sent) {
                fail("\(request.poll) was told that it is called \(request.name ?? "nothing") now, and never was")
            }
        } else if text.contains(#""code":"conflict""#) {
            refusals += 1
            requests[id] = nil
            if !wasTaken(request.name ?? "", from: request.poll, since: request.sent) {
                fail("\(request.poll) was refused \(request.name ?? "nothing"), which nobody else had")
            }
        } else if text.contains(#""code":"internal""#) {
            fail("answered: \(text)")
        }
    }

    /// Includes the last state before that time, which was current when the request arrived.
    private func wasShown(_ name: String?, by poll: Identifier, since time: Milliseconds) -> Bool {
        let own = shownLog.filter { $0.poll == poll }
        let before = own.last { $0.time < time }?.shown
        return before == name || own.contains { $0.time >= time && $0.shown == name }
    }

    private func wasTaken(_ name: String, from poll: Identifier, since time: Milliseconds) -> Bool {
        let owners = ownerLog.filter { $0.thing.string == name.lowercased() }
        let before = owners.last { $0.time < time }?.owner
        return ([before] + owners.filter { $0.time >= time }.map(\.owner)).contains { $0 != nil && $0 != poll.string }
    }

    // MARK: Quiet

    private func quieten() throws {
        isQuiet = true
        try world.calm()
        // Late executors arrive, and sweeps continue their work.
        try world.run(for: 8_000)
        for _ in 0..<30 {
            try world.run(for: 4_000)
            if unfinished().isEmpty { break }
        }
        try check()
    }

    private func unfinished() -> [String] {
        (0..<world.configuration.partitions).flatMap { index in
            texts(["SMEMBERS", Partitions(world.configuration, database: 0).keys(index).unfinished]).compactMap(\.self)
        }
    }

    private func checkQuiet() throws {
        record()
        let left = unfinished()
        if !left.isEmpty { fail("unfinished: \(left)") }
        for poll in Self.polls where held[poll]!.wish != nil { fail("the wish of \(poll) is open: \(held[poll]!)") }
        for thing in Self.things {
            guard let claim = claim(on: thing) else { continue }
            let record = held[Identifier(claim.owner)!]
            if record?.thing != thing.string || record?.claim != String(claim.number) {
                fail("\(thing) is claimed by \(claim), whose record is \(record as Any)")
            }
        }
        if world.shards.contains(where: { $0.logic.intents.underWay != 0 }) { fail("an executor never ended") }
        orphans = redis.counts["claim-look", default: 0]
        if let fault { throw fault }
    }
}
