import Foundation
import PresenceProtocol
import Redis

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// A random history of four users, one of them with two devices, who write, edit, delete, mark and rename in a group,
/// which some of them leave and rejoin, and in a direct conversation, on three servers with the real scripts and a real
/// Redis. One user's account is deleted at some time. Between any script and its answer the server may die, lose its
/// connections, be slow, or pause. In some histories the first answer to each request, and to each step of an intent,
/// is lost; in some Redis returns errors for a moment, is silent or ends. The users behave like good clients: they
/// repeat unanswered requests, in order, and continue from their last position.
///
/// In some histories messages are kept for a minute (`TalkHistory+Aging.swift`). In some, absent users get pushes, and
/// a webhook gets each message (`TalkHistory+Leaving.swift`).
///
/// At all times: events are in order, without a gap or a duplicate; marks never move back; each version of a
/// conversation has one content; and a user who left receives no later event or push and cannot write. Three times,
/// when all is quiet: every client's messages and list equal the store, each acknowledged message is there once,
/// `unread` equals a model's, and nothing is left of users who are gone. The same holds for the owner, the name and the
/// members.
final class TalkHistory: DrawnHistory {
    let world: World
    /// A receiver of events about messages and due pushes.
    let webhooks: WebhookWorld?
    let redis: SimulatedRedis
    private var random: SplitMix64
    let trouble: Int
    /// In half of the histories.
    private(set) var redisTrouble: RedisTrouble?
    /// Whether the first answer to each request is lost.
    let dropsAnswers: Bool
    var lostAnswers: [String: Int] = [:]
    private(set) var isQuiet = false
    private(set) var fault: HistoryFault?
    /// How long messages are kept, in ms; 0: for ever.
    let keepFor: Milliseconds
    /// Whether Redis' clock is set back, also while a server has lost Redis.
    let clockSteps: Bool
    private(set) var stepsBack = 0
    func recordStepBack() { stepsBack += 1 }
    /// The time of each message seen in the store, by conversation and number.
    var times: [String: [Int64: Timestamp]] = [:]
    /// The fourth is a second device of the first; the account of the last may be deleted.
    private(set) var people: [TalkPerson] = []
    /// The group and the direct conversation, once a client knows them.
    private(set) var talks: [String] = []
    private(set) var group = ""
    /// Members of the group whose removal was requested, those who are out of it, and the group's number when they
    /// returned.
    var everOut: Set<String> = []
    var out: Set<String> = []
    var joinedAt: [String: Int64] = [:]
    /// Users who blocked the other member of the direct conversation: from the acknowledgement until they request the
    /// end of the block.
    var blockedSince: [String: Milliseconds] = [:]
    var wasBlocked = false
    /// A block, or its end, was requested more than once, so the first request may have arrived last.
    var isBlockUncertain = false
    var blocks = 0
    var returns = 0
    /// The group's members in the order of their joining, and its owner, as stored.
    var members = ["ana", "dee", "bob", "cy"]
    /// The group's state when each user was last removed from it.
    var leavings: [String: Leaving] = [:]
    /// The time of the last request to delete dee's account.
    var closing: Milliseconds?
    var told = ToldMessages()
    var owner = "ana"
    var successions = 0
    /// The number of successful changes of members.
    var memberChanges = 0
    /// The group's name as acknowledged to the only user who changes it; `nil`: unknown.
    var groupName: String? = "All"
    private var names = 0
    /// A name was requested more than once, so the first request may have arrived last.
    var isNameUncertain = false
    /// Messages whose deletion was acknowledged, with their numbers.
    var deleted: [String: Int64] = [:]
    /// Steps of intents whose answers were lost.
    var lostSteps: Set<String> = []
    /// The number of each acknowledged message.
    var acknowledged: [String: Int64] = [:]
    /// The conversation of each of them.
    var talkOf: [String: String] = [:]
    var deaths = 0
    /// Until then a command may arrive at Redis whose sender has given it up.
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
    /// The uploads, and their own source of random choices (`TalkHistory+Uploads.swift`).
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

    // MARK: Course

    func play() throws {
        for person in people { person.connect() }
        people[0].create(#""participants":["dee","bob","cy"],"name":"All","key":"k""#)
        people[0].create(#""participants":["bob"]"#)
        people[1].create(#""participants":["ana"]"#)
        for part in 1...3 {
            for _ in 0..<13 {
                step()
                try world.run(for: Milliseconds(draw(0...1) == 0 ? draw(0...10) : draw(0...1_200)))
                try check()
                guard keepFor > 0, draw(0...7) == 0 else { continue }
                for _ in 0..<draw(1...8) {
                    try world.run(for: 5_000)
                    try check()
                }
            }
            try quieten(isLast: part == 3)
            guard clockSteps else { continue }
            try missChanges()
            try quieten(isLast: part == 3)
        }
    }

    func step() {
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
            // (A conversation muted for a time may be muted again when the clock is set back.)
            let duration = draw(0...4) == 4 ? draw(500...4_000) : draw(0...3)
            if person !== people[3] { person.set(talk, clockSteps ? duration % 4 : duration) }
        case 10: if person !== people[3] { person.showReceipts(draw(0...1) == 0) }
        case 11, 12: changeMembers(person)
        case 13: block(person)
        case 14:
            let seq = Int64(draw(0...12)) + (person.held[talk]?.newest ?? 0) - 6
            // A late mark is a lower one.
            for late in 0...1 { person.markDelivered(talk, upTo: seq - Int64(late)) }
        case 15:
            // Only one user renames the group, so its name is the last one they gave it.
            guard talk == group, people[1].isIn(talk) else { return }
            names += 1
            people[1].rename(talk, to: "All \(names)")
        // An owner deletes other users' messages.
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
        // All members know their conversations.
        for person in people where isGroup || ["ana", "bob"].contains(person.name) { person.enter(id) }
    }

    // MARK: Checks

    func check() throws {
        for person in people { person.read() }
        if keepFor > 0 { try checkAges() }
        if let fault { throw fault }
    }

    /// - Parameter isLast: Whether the history ends here.
    private func quieten(isLast: Bool) throws {
        isQuiet = true
        defer { isQuiet = false }
        redisTrouble?.end()
        try world.calm()
        try world.run(for: max(0, lateUntil + 10 - world.now))
        for person in people { person.rest(false) }
        for _ in 0..<120 {
            for person in people { person.keepGoing() }
            keepClosing()
            try world.run(for: 700)
            try check()
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
