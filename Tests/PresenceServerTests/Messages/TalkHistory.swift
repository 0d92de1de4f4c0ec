import Foundation
import PresenceProtocol
import Redis

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// A drawn history of three people who write, edit, delete and mark in a group and in a direct conversation, on three servers
/// with the real scripts and a real Redis. Between any script and its answer the server may die, lose its connections, be
/// late, or stand still; in some histories the first answer of every send is lost. People do what good clients do: they
/// repeat what was not answered, in its order, and follow from where they were.
///
/// In a part of the histories messages are kept for a minute (`TalkHistory+Aging.swift`).
///
/// All the time: events are in order, without a gap and none twice, and marks never go back. At the end, when all is quiet:
/// everyone holds what the store has, everything that was acknowledged is there once, and unread is what a shadow model says.
final class TalkHistory: DrawnHistory {
    let world: World
    let redis: SimulatedRedis
    private var random: SplitMix64
    private let trouble: Int
    /// The first answer of every send is lost.
    private let dropsAnswers: Bool
    private var answeredOnce: Set<String> = []
    private var isQuiet = false
    private(set) var fault: HistoryFault?
    /// How long messages are kept, in ms; 0: for ever.
    let keepFor: Milliseconds
    /// By conversation and number: when each message was sent that the store was seen to have.
    var times: [String: [Int64: Timestamp]] = [:]
    private(set) var people: [TalkPerson] = []
    /// The group and the direct conversation, once somebody was told of them.
    private(set) var talks: [String] = []
    /// Where each acknowledged message stands.
    var acknowledged: [String: Int64] = [:]
    /// The conversation that each of them is in.
    var talkOf: [String: String] = [:]
    private var deaths = 0
    private var sent = 0
    var tally: [String: Int] { ["deaths": deaths, "sent": sent] }
    private var texts = 0
    /// What was uploaded, and the draws about that (`TalkHistory+Uploads.swift`).
    var uploads: [Upload] = []
    var choices: SplitMix64

    private static let scripts: Set<Script> = Set(Script.conversations + Script.messageScripts)

    init(seed: UInt64, on redis: SimulatedRedis) throws {
        random = SplitMix64(seed &* 0x9E37_79B9 &+ 11)
        choices = SplitMix64(seed &* 0x9E37_79B9 &+ 12)
        trouble = [2, 6, 12, 20].randomElement(using: &random)!
        dropsAnswers = seed % 3 == 0
        self.redis = redis
        let keepFor: Milliseconds = seed % 4 == 1 ? 60_000 : 0
        self.keepFor = keepFor
        world = try World(shards: 3, seed: seed, redis: redis) {
            $0[Messages.keepFor] = keepFor
            $0.redis.interests = seed.isMultiple(of: 2)
        }
        redis.ran = { [unowned self] script, arguments, _ in ran(script, arguments) }
        world.shards.forEach(hasten)
        people = ["ana", "bob", "cy"].enumerated().map { TalkPerson($0.element, at: $0.offset, in: self) }
    }

    private func hasten(_ shard: SimulatedShard) { shard.logic.intents.pause = 1_000 }

    private func draw(_ range: ClosedRange<Int>) -> Int { .random(in: range, using: &random) }

    func fail(_ text: String) { fault = fault ?? HistoryFault(description: "at \(world.now): \(text)") }

    // MARK: The course of it

    func play() throws {
        for person in people { person.connect() }
        people[0].create(#""participants":["bob","cy"],"name":"All","key":"k""#)
        people[0].create(#""participants":["bob"]"#)
        people[1].create(#""participants":["ana"]"#)
        for _ in 0..<40 {
            step()
            try world.run(for: Milliseconds(draw(0...1) == 0 ? draw(0...10) : draw(0...1_200)))
            try look()
            guard keepFor > 0, draw(0...7) == 0 else { continue }
            for _ in 0..<draw(1...8) {
                try world.run(for: 5_000)
                try look()
            }
        }
        try quieten()
    }

    private func step() {
        for person in people { person.keepGoing() }
        let person = people[draw(0...2)]
        guard let talk = talks.filter({ person.isIn($0) }).randomElement(using: &random) else { return }
        switch draw(0...9) {
        case 0...4:
            var recent: Upload?
            for _ in 0..<draw(1...4) {
                texts += 1
                person.write("m\(texts)", in: talk, with: attached(by: person.name, in: talk, after: &recent))
            }
        case 5, 6: person.markRead(talk, upTo: Int64(draw(0...12)) + (person.held[talk]?.newest ?? 0) - 6)
        case 7: person.edit(talk, draw(0...50), to: "edited \(world.now)")
        case 8: person.delete(talk, draw(0...50))
        default: person.rest(draw(0...1) == 0)
        }
    }

    func learn(_ id: String, isGroup: Bool) {
        guard !talks.contains(id) else { return }
        if talks.count == 2 { fail("a third conversation was made: \(id)") }
        talks.append(id)
        // Both are known by all who are in them.
        for person in people where isGroup || person.name != "cy" { person.enter(id) }
    }

    // MARK: Trouble

    private func ran(_ script: Script, _ arguments: [String]) {
        guard Self.scripts.contains(script), arguments.count > 2, !isQuiet,
            let place = world.shards.firstIndex(where: { $0.logic.link.incarnation == arguments[2] })
        else { return }
        if script == .send {
            sent += 1
            if dropsAnswers, answeredOnce.insert(arguments[5]).inserted {
                world.after(0) { [unowned self] in world.shards[place].cut(.commands) }
            }
        }
        guard draw(0...99) < trouble else { return }
        deaths += 1
        world.after(0) { [unowned self] in harm(place) }
    }

    private func harm(_ place: Int) {
        let shard = world.shards[place]
        guard !shard.isDead, !isQuiet else { return }
        switch draw(0...7) {
        case 0, 1:
            shard.die()
            world.replaceShard(at: place)
            hasten(world.shards[place])
        case 2: shard.cut(.commands)
        case 3: shard.cutAll()
        case 4: shard.cutSubscription()
        case 5: shard.hold(.commands, for: Milliseconds(draw(100...4_500)))
        case 6: shard.holdEvents(for: Milliseconds(draw(50...2_000)))
        default:
            shard.stop()
            world.after(Milliseconds(draw(10...4_000))) { shard.wakeUp() }
        }
    }

    // MARK: Looking

    private func look() throws {
        for person in people { person.read() }
        if keepFor > 0 { try lookAtAges() }
        if let fault { throw fault }
    }

    private func quieten() throws {
        isQuiet = true
        for shard in world.shards {
            shard.wakeUp()
            shard.stopHolding()
        }
        try world.run(until: "all are live", within: 120_000) { [self] in
            world.shards.allSatisfy { $0.logic.link.isLive }
        }
        for person in people { person.rest(false) }
        for _ in 0..<120 {
            for person in people { person.keepGoing() }
            try world.run(for: 700)
            try look()
            if people.allSatisfy(\.isDone), unfinished().isEmpty { break }
        }
        for person in people where !person.isDone { fail("\(person.name) is never done: \(person.state)") }
        let left = unfinished()
        if !left.isEmpty { fail("unfinished: \(left)") }
        if keepFor > 0 { try age() }
        try compareAll()
        guard keepFor > 0 else { return }
        try ageAll()
        try compareAll()
    }

    private func compareAll() throws {
        for person in people { person.askAll() }
        try world.run(for: 1_000)
        try look()
        try compare()
    }

    var partitions: Partitions { Partitions(world.configuration, database: 0) }

    private func unfinished() -> [String] {
        (0..<world.configuration.partitions).flatMap { index in
            (try? redis.ask(["SMEMBERS", partitions.keys(index).unfinished]).get())?.array?.compactMap(\.string) ?? []
        }
    }

    /// What the store has of a conversation.
    func stored(_ id: String) throws -> [StoredMessage] {
        let id = ConversationID(id)!
        let values = try redis.ask(["LRANGE", partitions.keys(of: id).log(id), "0", "-1"]).get().array ?? []
        return values.compactMap { $0.bytes.flatMap { StoredMessage($0) } }
    }

    private func compare() throws {
        if talks.count != 2 { fail("there are \(talks.count) conversations") }
        var places: [String: Int64] = [:]
        for id in talks {
            let messages = try stored(id)
            let first = try self.first(of: id)
            let numbers = messages.indices.map { Int64($0) + first }
            if messages.map(\.seq) != numbers {
                fail("the numbers of \(id) are \(messages.map(\.seq)) from \(first)")
            }
            for (seq, name) in names(before: first, of: id) { places[name] = seq }
            for message in messages {
                if places.updateValue(message.seq, forKey: message.id) != nil { fail("\(message.id) is there twice") }
            }
            for person in people where person.isIn(id) { person.compare(id, with: messages) }
        }
        for (id, seq) in acknowledged where places[id] != seq {
            fail("\(id) was acknowledged as \(seq), and is \(places[id].map { "\($0)" } ?? "lost")")
        }
        for person in people {
            let user = UserID(person.name)!
            let inbox = try redis.ask(["HGETALL", partitions.keys(of: user).inbox(user)]).get().array ?? []
            let known = stride(from: 0, to: inbox.count - 1, by: 2).filter {
                inbox[$0 + 1].string?.hasPrefix("in ") == true
            }
            if Set(known.compactMap { inbox[$0].string }) != Set(talks.filter(person.isIn)) {
                fail("the inbox of \(person.name) is \(inbox.compactMap(\.string))")
            }
        }
        try compareUploads()
        if let fault { throw fault }
    }
}
