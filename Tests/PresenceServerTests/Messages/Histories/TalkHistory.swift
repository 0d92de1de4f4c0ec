import Foundation
import PresenceProtocol
import Redis

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// A drawn history of four people, one of them with two devices, who write, edit, delete, mark and rename in a group, which some
/// of them leave and come back to, and in a direct conversation, on three servers with the real scripts and a real Redis. The
/// account of one is closed at some time. Between any script and its answer the server may die, lose its connections, be late, or
/// stand still; in some histories the first answer to each request, and to each step of an intent, is lost, and in some Redis
/// refuses for a moment, is silent or goes. People do what good clients do: they repeat what was not answered, in its order, and
/// follow from where they were.
///
/// In a part of the histories messages are kept for a minute (`TalkHistory+Aging.swift`). In a part, who is away is pushed for, and
/// a webhook is told of each message (`TalkHistory+Leaving.swift`).
///
/// All the time: events are in order, without a gap and none twice, marks never go back, a version of a conversation is told as
/// one thing only, and who has left hears of nothing that came after it, is pushed for nothing, and writes nothing. Three times,
/// when all is quiet: everyone holds what the store has, in messages and in their list, everything that was acknowledged is there
/// once, unread is what a shadow model says, and nothing is left of who has gone. So are the owner, the name and the members.
final class TalkHistory: DrawnHistory {
    let world: World
    /// Where somebody is told of messages, and of who is to be pushed to.
    let webhooks: WebhookWorld?
    let redis: SimulatedRedis
    private var random: SplitMix64
    let trouble: Int
    /// In half of the histories.
    private(set) var redisTrouble: RedisTrouble?
    /// The first answer to each request is lost.
    let dropsAnswers: Bool
    var lostAnswers: [String: Int] = [:]
    private(set) var isQuiet = false
    private(set) var fault: HistoryFault?
    /// How long messages are kept, in ms; 0: for ever.
    let keepFor: Milliseconds
    /// Redis' clock goes back, often while a server has lost it.
    let clockSteps: Bool
    private(set) var stepsBack = 0
    func noteStepBack() { stepsBack += 1 }
    /// By conversation and number: when each message was sent that the store was seen to have.
    var times: [String: [Int64: Timestamp]] = [:]
    /// The fourth is a second device of the first; the account of the last may be closed.
    private(set) var people: [TalkPerson] = []
    /// The group and the direct conversation, once somebody was told of them.
    private(set) var talks: [String] = []
    private(set) var group = ""
    /// Members of the group whom somebody has asked to take out, who are out of it, and where it was when they came back.
    var everOut: Set<String> = []
    var out: Set<String> = []
    var joinedAt: [String: Int64] = [:]
    /// Who has blocked the other one of the direct conversation, since it was acknowledged and until they ask for the end of it.
    var blockedSince: [String: Milliseconds] = [:]
    var wasBlocked = false
    /// A block, or the end of one, was asked for more than once: what was asked for first may have come last.
    var isBlockUncertain = false
    var blocks = 0
    var returns = 0
    /// Who is in the group, in the order of their joining, and whose it is: as the store has it.
    var members = ["ana", "dee", "bob", "cy"]
    /// What the group was when somebody was last taken out of it.
    var leavings: [String: Leaving] = [:]
    /// When it was last asked for that dee's account is closed.
    var closing: Milliseconds?
    var told = ToldMessages()
    var owner = "ana"
    var successions = 0
    /// Changes of members that were made.
    var memberChanges = 0
    /// The group's name as it was acknowledged to the only one who changes it; `nil`: it is not known what came last.
    var groupName: String? = "All"
    private var names = 0
    /// A name was asked for more than once: what was asked for first may have come last.
    var isNameUncertain = false
    /// Messages of which it was acknowledged that they are deleted, with their numbers.
    var deleted: [String: Int64] = [:]
    /// Steps of intents whose answers were lost.
    var lostSteps: Set<String> = []
    /// Where each acknowledged message stands.
    var acknowledged: [String: Int64] = [:]
    /// The conversation that each of them is in.
    var talkOf: [String: String] = [:]
    var deaths = 0
    /// Until when something may arrive at Redis whose sender has given it up.
    var lateUntil: Milliseconds = 0
    var sent = 0
    var tally: [String: Int] {
        let counts = [
            "deaths": deaths, "sent": sent, "outages": redisTrouble?.count ?? 0, "refused": redisTrouble?.refused ?? 0,
            "returns": returns, "blocks": blocks, "successions": successions, "deletions": deleted.count,
            "steps back": stepsBack, "closed accounts": people.count(where: \.isGone),
            "pushes": webhooks?.calls("push.due").count ?? 0,
        ]
        return counts.merging(lostAnswers) { $1 }
    }
    private var texts = 0
    var calls: [SimulatedCall] = []
    /// What was uploaded, and the draws about that (`TalkHistory+Uploads.swift`).
    var uploads: [Upload] = []
    var choices: SplitMix64

    init(seed: UInt64, on redis: SimulatedRedis) throws {
        random = SplitMix64(seed &* 0x9E37_79B9 &+ 11)
        choices = SplitMix64(seed &* 0x9E37_79B9 &+ 12)
        trouble = [2, 6, 12, 20].randomElement(using: &random)!
        dropsAnswers = seed % 3 == 0
        self.redis = redis
        let keepFor: Milliseconds = seed % 4 == 1 ? 60_000 : 0
        self.keepFor = keepFor
        clockSteps = seed % 7 == 3 && keepFor == 0
        let adjust: (inout ServerConfiguration) -> Void = {
            $0[Messages.keepFor] = keepFor
            $0.redis.interests = seed.isMultiple(of: 2)
        }
        webhooks =
            seed % 5 < 2 ? try WebhookWorld(shards: 3, pushes: true, seed: seed, redis: redis, adjust) : nil
        world = try webhooks?.world ?? World(shards: 3, seed: seed, redis: redis, adjust)
        if seed / 3 % 2 == 0 { redisTrouble = RedisTrouble(world) }
        redis.ran = { [unowned self] script, arguments, answer in ran(script, arguments, answer) }
        world.shards.forEach(hasten)
        people = [("ana", 0), ("bob", 1), ("cy", 2), ("ana", 1), ("dee", 2)].map {
            TalkPerson($0.0, at: $0.1, in: self)
        }
        try openAccount()
    }

    func hasten(_ shard: SimulatedShard) { shard.logic.intents.pause = 1_000 }

    func draw(_ range: ClosedRange<Int>) -> Int { .random(in: range, using: &random) }

    func fail(_ text: String) { fault = fault ?? HistoryFault(description: "at \(world.now): \(text)") }

    // MARK: The course of it

    func play() throws {
        for person in people { person.connect() }
        people[0].create(#""participants":["dee","bob","cy"],"name":"All","key":"k""#)
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
        let person = people[draw(0...4)]
        guard let talk = talks.filter({ person.isIn($0) }).randomElement(using: &random) else { return }
        switch draw(0...19) {
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
        case 9:
            // (What is muted for a time may be muted again when the clock goes back.)
            let duration = draw(0...4) == 4 ? draw(500...4_000) : draw(0...3)
            if person !== people[3] { person.set(talk, clockSteps ? duration % 4 : duration) }
        case 10: if person !== people[3] { person.showReceipts(draw(0...1) == 0) }
        case 11, 12: changeMembers(person)
        case 13: block(person)
        case 14:
            let seq = Int64(draw(0...12)) + (person.held[talk]?.newest ?? 0) - 6
            // What is said late is less.
            for late in 0...1 { person.markDelivered(talk, upTo: seq - Int64(late)) }
        case 15:
            // One renames it: the name is the last that they gave it.
            guard talk == group, people[1].isIn(talk) else { return }
            names += 1
            people[1].rename(talk, to: "All \(names)")
        // An owner deletes what others wrote.
        case 16: if talk == group, person.name == owner { person.delete(talk, draw(0...50), ofOthers: true) }
        case 17: if draw(0...2) == 0 { putAllIn() }
        case 18: if draw(0...1) == 0 { closeAccount() }
        default: person.rest(draw(0...1) == 0)
        }
    }

    func learn(_ id: String, isGroup: Bool) {
        guard !talks.contains(id) else { return }
        if talks.count == 2 { fail("a third conversation was made: \(id)") }
        talks.append(id)
        if isGroup { group = id }
        // Both are known by all who are in them.
        for person in people where isGroup || ["ana", "bob"].contains(person.name) { person.enter(id) }
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
            keepClosing()
            try world.run(for: 700)
            try look()
            guard people.allSatisfy(\.isDone), unfinished().isEmpty else { continue }
            if try listFault() == nil, try leftFault() == nil { break }
        }
        for person in people where !person.isDone {
            fail("\(person.name) is never done: \(person.state); \(try listFault() ?? "lists are right")")
        }
        let left = unfinished()
        if !left.isEmpty { fail("unfinished: \(left)") }
        if let fault = try leftFault() { fail(fault) }
        guard isLast, keepFor > 0 else { return try compareAll() }
        try age()
        try compareAll()
        try ageAll()
        try compareAll()
    }
}
