import Foundation
import PresenceProtocol
import Redis

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// A drawn history of three people, one of them with two devices, who write, edit, delete, mark and rename in a group, which they
/// leave and come back to, and in a direct conversation, on three servers with the real scripts and a real Redis. Between any script and its answer the server may die, lose its connections, be
/// late, or stand still; in some histories the first answer to each request, and to each step of an intent, is lost, and in some Redis refuses for a moment, is
/// silent or goes. People do what good clients do: they repeat what was not answered, in its order, and follow from where they
/// were.
///
/// In a part of the histories messages are kept for a minute (`TalkHistory+Aging.swift`).
///
/// All the time: events are in order, without a gap and none twice, marks never go back, and a version of a conversation is
/// told as one thing only. Three times, when all is quiet: everyone holds what the store has, in messages and in their list,
/// everything that was acknowledged is there once, and unread is what a shadow model says. So are the owner and the name.
final class TalkHistory: DrawnHistory {
    let world: World
    let redis: SimulatedRedis
    private var random: SplitMix64
    private let trouble: Int
    /// In half of the histories.
    private var redisTrouble: RedisTrouble?
    /// The first answer to each request is lost.
    private let dropsAnswers: Bool
    private var lostAnswers: [String: Int] = [:]
    private var isQuiet = false
    private(set) var fault: HistoryFault?
    /// How long messages are kept, in ms; 0: for ever.
    let keepFor: Milliseconds
    /// By conversation and number: when each message was sent that the store was seen to have.
    var times: [String: [Int64: Timestamp]] = [:]
    /// The last is a second device of the first.
    private(set) var people: [TalkPerson] = []
    /// The group and the direct conversation, once somebody was told of them.
    private(set) var talks: [String] = []
    private(set) var group = ""
    /// Members of the group whom somebody has asked to take out, who are out of it, and where it was when they came back.
    var everOut: Set<String> = []
    var out: Set<String> = []
    var joinedAt: [String: Int64] = [:]
    /// Who has blocked the other one of the direct conversation, since it was acknowledged and until they ask for the end of it.
    private var blockedSince: [String: Milliseconds] = [:]
    private var wasBlocked = false
    /// A block, or the end of one, was asked for more than once: what was asked for first may have come last.
    private var isBlockUncertain = false
    private var blocks = 0
    var returns = 0
    /// Who is in the group, in the order of their joining, and whose it is: as the store has it.
    var members = ["ana", "bob", "cy"]
    var owner = "ana"
    var successions = 0
    /// Changes of members that were made.
    var memberChanges = 0
    /// The group's name as it was acknowledged to the only one who changes it; `nil`: it is not known what came last.
    var groupName: String? = "All"
    private var names = 0
    /// A name was asked for more than once: what was asked for first may have come last.
    var isNameUncertain = false
    /// Of messages of which it was acknowledged that they are deleted.
    var deleted: Set<String> = []
    /// Steps of intents whose answers were lost.
    private var lostSteps: Set<String> = []
    /// Where each acknowledged message stands.
    var acknowledged: [String: Int64] = [:]
    /// The conversation that each of them is in.
    var talkOf: [String: String] = [:]
    private var deaths = 0
    /// Until when something may arrive at Redis whose sender has given it up.
    private var lateUntil: Milliseconds = 0
    private var sent = 0
    var tally: [String: Int] {
        let counts = [
            "deaths": deaths, "sent": sent, "outages": redisTrouble?.count ?? 0, "refused": redisTrouble?.refused ?? 0,
            "returns": returns, "blocks": blocks, "successions": successions, "deletions": deleted.count,
        ]
        return counts.merging(lostAnswers) { $1 }
    }
    private var texts = 0
    var calls: [SimulatedCall] = []
    /// What was uploaded, and the draws about that (`TalkHistory+Uploads.swift`).
    var uploads: [Upload] = []
    var choices: SplitMix64

    private static let scripts: Set<Script> = Set(Script.conversations + Script.messageScripts)
    /// What nobody asks for: the steps of intents.
    private static let steps: Set<Script> = [.joining, .enroll, .settle, .reserve, .receiptsPage, .receiptsMember]

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
        if seed / 3 % 2 == 0 { redisTrouble = RedisTrouble(world) }
        redis.ran = { [unowned self] script, arguments, answer in ran(script, arguments, answer) }
        world.shards.forEach(hasten)
        people = [("ana", 0), ("bob", 1), ("cy", 2), ("ana", 1)].map { TalkPerson($0.0, at: $0.1, in: self) }
    }

    private func hasten(_ shard: SimulatedShard) { shard.logic.intents.pause = 1_000 }

    func draw(_ range: ClosedRange<Int>) -> Int { .random(in: range, using: &random) }

    func fail(_ text: String) { fault = fault ?? HistoryFault(description: "at \(world.now): \(text)") }

    // MARK: The course of it

    func play() throws {
        for person in people { person.connect() }
        people[0].create(#""participants":["bob","cy"],"name":"All","key":"k""#)
        people[0].create(#""participants":["bob"]"#)
        people[1].create(#""participants":["ana"]"#)
        for part in 1...3 {
            for _ in 0..<13 {
                step()
                try world.run(for: Milliseconds(draw(0...1) == 0 ? draw(0...10) : draw(0...1_200)))
                try look()
                guard keepFor > 0, draw(0...7) == 0 else { continue }
                for _ in 0..<draw(1...8) {
                    try world.run(for: 5_000)
                    try look()
                }
            }
            try quieten(isLast: part == 3)
        }
    }

    private func step() {
        for person in people { person.keepGoing() }
        let person = people[draw(0...3)]
        guard let talk = talks.filter({ person.isIn($0) }).randomElement(using: &random) else { return }
        switch draw(0...18) {
        case 0...4:
            var recent: Upload?
            for _ in 0..<draw(1...4) {
                texts += 1
                let priority = draw(0...7) == 0 ? #","priority":{"reason":"now"}"# : ""
                person.write(
                    "m\(texts)", in: talk, with: attached(by: person.name, in: talk, after: &recent) + priority)
            }
        case 5, 6: person.markRead(talk, upTo: Int64(draw(0...12)) + (person.held[talk]?.newest ?? 0) - 6)
        case 7: person.edit(talk, draw(0...50), to: "edited \(world.now)")
        case 8: person.delete(talk, draw(0...50))
        case 9: if person !== people[3] { person.set(talk, draw(0...4) == 4 ? draw(500...4_000) : draw(0...3)) }
        case 10: if person !== people[3] { person.showReceipts(draw(0...1) == 0) }
        case 11, 12: changeMembers(person)
        case 13: block(person)
        case 14: person.markDelivered(talk, upTo: Int64(draw(0...12)) + (person.held[talk]?.newest ?? 0) - 6)
        case 15:
            guard talk == group, person === people[1] else { return }
            names += 1
            person.rename(talk, to: "All \(names)")
        // An owner deletes what others wrote.
        case 16: if talk == group, person.name == owner { person.delete(talk, draw(0...50), ofOthers: true) }
        case 17: if draw(0...2) == 0 { putAllIn() }
        default: person.rest(draw(0...1) == 0)
        }
    }

    /// Whether somebody may be told that they are not to do something in a conversation.
    func mayForbid(_ name: String, _ talk: String) -> Bool {
        // Nobody is put in by somebody with whom there is a block.
        talk == group ? everOut.contains(name) || wasBlocked && everOut.contains("ana") : wasBlocked
    }

    private func block(_ person: TalkPerson) {
        // Nobody is put into a new conversation by somebody with whom there is a block.
        guard talks.count == 2, !people.contains(where: \.isCreating), person !== people[2], person !== people[3]
        else { return }
        wasBlocked = true
        let isBlocked = draw(0...1) == 0
        if !isBlocked { blockedSince[person.name] = nil }
        person.block(person.name == "ana" ? "bob" : "ana", isBlocked)
    }

    func noteBlock(_ isBlocked: Bool, by name: String, after times: Int) {
        if times > 1 { isBlockUncertain = true }
        guard isBlocked, !people.contains(where: { $0.name == name && $0.unblocks }) else { return }
        blocks += 1
        if blockedSince[name] == nil { blockedSince[name] = world.now }
    }

    /// What was asked for after a block was acknowledged is forbidden.
    func noteSent(in talk: String, by name: String, askedAt: Milliseconds) {
        guard talk != group, !isBlockUncertain else { return }
        for (user, since) in blockedSince where askedAt > since {
            fail("\(name) has sent something at \(askedAt), and \(user) had blocked at \(since)")
        }
    }

    func learn(_ id: String, isGroup: Bool) {
        guard !talks.contains(id) else { return }
        if talks.count == 2 { fail("a third conversation was made: \(id)") }
        talks.append(id)
        if isGroup { group = id }
        // Both are known by all who are in them.
        for person in people where isGroup || person.name != "cy" { person.enter(id) }
    }

    // MARK: Trouble

    private func ran(_ script: Script, _ arguments: [String], _ answer: Result<RedisValue, RedisFailure>) {
        if case .success(let value) = answer, value.array?.first?.string == "OK" {
            if script == .members { note(Array(arguments[7...])) }
            if script == .participants { note(arguments[5...].map { "+" + $0 }) }
        }
        guard Self.scripts.contains(script), arguments.count > 2, !isQuiet,
            let place = world.shards.firstIndex(where: { $0.logic.link.incarnation == arguments[2] })
        else { return }
        if script == .send { sent += 1 }
        if dropsAnswers, case .success = answer,
            losesStep(script, arguments) || people.contains(where: { $0.losesAnswer(of: script, arguments, on: place) })
        {
            lostAnswers["answers of \(script.name) lost", default: 0] += 1
            world.after(0) { [unowned self] in world.shards[place].cut(.commands) }
        }
        guard draw(0...99) < trouble else { return }
        deaths += 1
        world.after(0) { [unowned self] in harm(place) }
    }

    /// Whether this step of an intent has just been done for the first time since members have changed.
    private func losesStep(_ script: Script, _ arguments: [String]) -> Bool {
        guard Self.steps.contains(script) else { return false }
        let step = [script.name, String(memberChanges)] + arguments.dropFirst(3)
        return lostSteps.insert(step.joined(separator: " ")).inserted
    }

    private func harm(_ place: Int) {
        let shard = world.shards[place]
        guard !shard.isDead, !isQuiet else { return }
        switch draw(0...(redisTrouble == nil ? 7 : 9)) {
        case 0, 1:
            shard.die()
            world.replaceShard(at: place)
            hasten(world.shards[place])
        case 2: shard.cut(.commands)
        case 3: shard.cutAll()
        case 4: shard.cutSubscription()
        case 5:
            let duration = Milliseconds(draw(100...4_500))
            lateUntil = max(lateUntil, world.now + duration)
            shard.hold(.commands, for: duration)
        case 6: shard.holdEvents(for: Milliseconds(draw(50...2_000)))
        case 7:
            shard.stop()
            world.after(Milliseconds(draw(10...4_000))) { shard.wakeUp() }
        default: redisTrouble?.begin(draw)
        }
    }

    // MARK: Looking

    func look() throws {
        for person in people { person.read() }
        if keepFor > 0 { try lookAtAges() }
        if let fault { throw fault }
    }

    /// - Parameter isLast: Of the history.
    private func quieten(isLast: Bool) throws {
        isQuiet = true
        defer { isQuiet = false }
        redisTrouble?.end()
        for shard in world.shards {
            shard.wakeUp()
            shard.stopHolding()
        }
        try world.run(until: "all are live", within: 120_000) { [self] in
            world.shards.allSatisfy { $0.logic.link.isLive }
        }
        try world.run(for: max(0, lateUntil + 10 - world.now))
        for person in people { person.rest(false) }
        for _ in 0..<120 {
            for person in people { person.keepGoing() }
            try world.run(for: 700)
            try look()
            if people.allSatisfy(\.isDone), unfinished().isEmpty, try listFault() == nil { break }
        }
        for person in people where !person.isDone { fail("\(person.name) is never done: \(person.state)") }
        let left = unfinished()
        if !left.isEmpty { fail("unfinished: \(left)") }
        guard isLast, keepFor > 0 else { return try compareAll() }
        try age()
        try compareAll()
        try ageAll()
        try compareAll()
    }
}
