import PresenceProtocol

@testable import PresenceCore
@testable import PresenceServer

/// Runs a history: performs its steps, and checks its rules at all times.
final class HistoryRun {
    let history: SimulatedHistory
    let world: World
    let people: [Person]
    let conversation = ConversationID("chat")!
    /// The events, line by line, if requested.
    var transcript: [String]?
    /// The first violation.
    var violation: Violation?

    /// Redis has lost changes since the last quiet.
    var hasLostData = false
    /// When its clock has jumped since the last quiet step, or times from before a jump have returned with old data.
    var jumpedAt: Milliseconds?
    /// The clock of the times in the data with which Redis would return.
    var rememberedEpoch: Timestamp?
    /// When there was last trouble: a stopped server, an unreachable Redis.
    var troubledAt: Milliseconds = 0
    /// When each server's lease, by its name, was last renewed, on the clock of `uptime`.
    var renewedAt: [String: Milliseconds] = [:]
    /// Servers whose lease may have expired since they were last live.
    var doubtful: Set<String> = []
    /// The reasons why Redis cannot be written to.
    var absences: Set<Absence> = []
    var downSince: Milliseconds?
    var downTime: Milliseconds = 0
    /// How many runs of each script will be rejected.
    var refusals: [Script: Int] = [:]
    /// The reason why Redis rejects more than that, until it recovers; the number distinguishes occurrences.
    var refusing: (why: Refusing, number: Int)?
    var refusingNumber = 0
    var deafSince: [String: Milliseconds] = [:]
    var wokenAt: [String: Milliseconds] = [:]
    var shown: [ShownVersion: Presence] = [:]
    /// When a server last died; typing on it can no longer be withdrawn.
    var diedAt = Milliseconds.min / 2
    /// Since when each watcher is wrongly shown an invisible user as typing.
    var hiddenShownSince: [ObjectIdentifier: Milliseconds] = [:]
    /// No client returns any more.
    var isEnding = false
    /// Names drawn for clients that send requests before `connected`.
    var rushes = 0

    enum Absence { case silence, restart, refusal }

    struct ShownVersion: Hashable {
        let user: UserID
        let version: Int64
    }

    init(_ history: SimulatedHistory, on redis: SimulatedRedis, misbehaving: Set<PortMisbehaviour> = []) throws {
        self.history = history
        people = (0..<history.people).map(Person.init)
        world = try World(shards: history.shards, seed: history.seed, redis: redis) { history.configure(&$0) }
        try world.configuration.validate()
        world.misbehaviour = misbehaving
        watchRedis()
        for shard in world.shards { attend(to: shard) }
        try createConversation()
    }

    /// Returns if no rule was broken.
    func play() throws {
        for step in history.steps { try play(step) }
        try end()
    }

    private func play(_ step: Step) throws {
        record(step.source)
        recordTrouble()
        try perform(step)
        recordTrouble()
        try check()
    }

    /// Lets time pass, with regular checks.
    func wait(_ duration: Milliseconds) throws {
        let end = world.now + duration
        while world.now < end {
            try world.run(for: min(250, end - world.now))
            recordTrouble()
            try check()
        }
    }

    private func check() throws {
        checkGhosts()
        checkSilence()
        checkHidden()
        if let violation { throw violation }
    }

    func violate(_ rule: Violation.Rule, _ detail: @autoclosure () -> String) {
        if violation == nil { violation = Violation(rule: rule, detail: "\(detail()) (at \(world.now) ms)") }
    }

    func record(_ line: @autoclosure () -> String) { transcript?.append("\(world.now) \(line())") }

    // MARK: Users and servers

    func shard(_ number: Int) -> SimulatedShard { world.shards[number % world.shards.count] }
    func person(_ number: Int) -> Person { people[number % people.count] }

    func visitor(_ number: Int, _ place: Int) -> Visitor {
        let person = person(number)
        if let known = person.devices[place] { return known }
        let visitor = Visitor(
            person, place: place, client: SimulatedClient(person.id.string, in: world), wanted: friends(of: number))
        person.devices[place] = visitor
        visitor.client.onMessage = { [unowned self, unowned visitor] in receive($0, visitor) }
        visitor.client.onClose = { [unowned self, unowned visitor] in closed(visitor, $0) }
        return visitor
    }

    /// The users whom a user watches: everyone, or in a crowd their neighbours.
    private func friends(of number: Int) -> Set<UserID> {
        guard people.count > 10 else { return Set(people.map(\.id)) }
        return Set((0..<10).map { people[(number + $0 * $0) % people.count].id })
    }

    // MARK: Time

    /// Time in which Redis could be reached.
    var uptime: Milliseconds { world.now - downTime - (downSince.map { world.now - $0 } ?? 0) }

    var isRedisUp: Bool { downSince == nil }

    func redisIsDown(_ why: Absence) {
        absences.insert(why)
        if downSince == nil { downSince = world.now }
    }

    func redisIsUp(_ why: Absence) {
        absences.remove(why)
        guard absences.isEmpty, let since = downSince else { return }
        downTime += world.now - since
        downSince = nil
    }

    /// The longest time for which a user may be seen after they have left, whatever the reason.
    var longestGhost: Milliseconds {
        let settings = world.configuration
        return settings.heartbeat.interval + settings.heartbeat.timeout + settings.linger + settings.lease.duration
            + 2 * settings.lease.sweep + 2_000
    }

    private func recordTrouble() {
        let isTroubled =
            !isRedisUp || refusing != nil || !refusals.isEmpty || !world.shards.contains { !$0.isDead }
            || world.shards.contains { !$0.isDead && ($0.isStopped || !$0.logic.link.isLive || $0.isHeld) }
        if isTroubled { troubledAt = world.now }
    }
}
