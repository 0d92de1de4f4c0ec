import Expectations
import PresenceProtocol
import Redis
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Each kind of damage is made by hand, reported as exactly that, and repaired if this is safe.
@Suite struct DoctorTests {
    private func kinds(_ findings: [DoctorFinding]) -> Set<DoctorFinding.Kind> { Set(findings.map(\.kind)) }

    /// A Redis with all kinds of healthy records.
    private func healthy(_ form: Installation.Form) throws -> Installation {
        let installation = try Installation(form)
        let live = installation.live
        for user in ["ana", "cy"] { try installation.open(user, user + "-phone", on: live) }
        try installation.open("ana", "ana-desk", on: live)
        try installation.status("ana", "busy", clearAfter: "3600000")
        try installation.open("dan", "dan-phone", on: live)
        try installation.status("dan", "invisible")
        // One user who was here, one invisible user, and one who set a status and left.
        let dan = installation.keys("dan")
        let id = UserID("dan")!
        try installation.run(
            .end, [dan.shards, dan.floor, dan.user(id), dan.sessions(id), dan.users(ofShard: live)],
            [dan.events, live, "dan", "dan-phone", "0"])
        let ana = installation.keys("ana")
        try installation.run(
            .profile, [ana.shards, ana.floor, installation.user("ana"), ana.directory],
            [ana.events, live, "ana", "displayName", "\"Ana \u{1F33B}\""])
        let conversation = UserID("c:1")!
        let keys = installation.partitions.keys(of: conversation)
        try installation.run(
            .participants, [keys.shards, keys.floor] + keys.whole(conversation).map(\.value),
            [keys.events, live, "joining c:1", "c:1", "ana", "cy"])
        try installation.run(
            .typing, [keys.shards, keys.floor, keys.conversation(conversation), keys.typing(conversation)],
            [keys.events, live, "c:1", "ana", "ana-phone", "1", "6000"])
        return installation
    }

    @Test(arguments: Installation.Form.allCases)
    func `a healthy Redis has no findings, and its records are counted`(form: Installation.Form) throws {
        let installation = try healthy(form)
        try installation.redis.command("SET", "somebody:elses", "key")
        let report = try installation.doctor().examine()
        expect(report.findings, equals: [])
        expect(report.isHealthy && report.isWhole)
        expect(report.counts.users == 3 && report.counts.sessions == 3 && report.counts.conversations == 1)
        expect(report.counts.unknownKeys == 1 && report.partitions == 4)
        expect(report.leases.map(\.incarnation) == ["living"] && report.leases.map(\.state) == [.live])
        expect(report.leases.map(\.sessions), equals: [3])
        expect(report.text.hasSuffix("all is well"))
    }

    @Test func `a name that its owner's open change releases is no finding while servers continue it`() throws {
        let installation = try healthy(.allCases[0])
        try installation.isGivingUp("soup", number: "5", of: "bob", for: "pie", number: "7")
        let report = try installation.doctor().examine()
        expect(report.findings, equals: [], "\(report.text)")
    }

    @Test func `the damages cover all kinds of findings`() {
        let made = (Damage.everyRepairable + Damage.everyBeyondRepair).reduce(into: Set()) { $0.formUnion($1.kinds) }
        expect(made, equals: Set(DoctorFinding.Kind.allCases))
        for kind in Damage.everyRepairable.flatMap(\.kinds) { expect(kind.isRepairable) }
        for kind in Damage.everyBeyondRepair.flatMap(\.kinds) { expect(!kind.isRepairable) }
    }

    @Test(arguments: Damage.placed(Damage.everyRepairable))
    func `damage is found, repaired, and gone`(damage: Damage, form: Installation.Form) throws {
        let installation = try healthy(form)
        try damage.make(installation)
        let found = try installation.doctor().examine()
        expect(kinds(found.findings), equals: damage.kinds, "\(found.text)")
        let cleared = try installation.doctor().repair()
        expect(kinds(cleared.repaired), equals: damage.kinds)
        expect(cleared.isHealthy, "\(cleared.text)")
        try installation.goOnSweeping()
        // A second run finds nothing, and other users' records are unchanged.
        let after = try installation.doctor().repair()
        expect(after.isHealthy && after.repaired.isEmpty, "\(after.text)")
        try expect(installation.field("ana", "status"), equals: "busy")
        try expect(installation.field("cy", "status"), equals: "online")
        try expect(installation.redis.command("HLEN", .string(installation.sessions("ana"))).int, equals: 2)
    }

    @Test(arguments: Damage.placed(Damage.everyBeyondRepair))
    func `damage beyond repair is found and left`(damage: Damage, form: Installation.Form) throws {
        let installation = try healthy(form)
        try damage.make(installation)
        let found = try installation.doctor().repair()
        expect(kinds(found.findings), equals: damage.kinds, "\(found.text)")
        expect(found.repaired.isEmpty)
        expect(!found.isHealthy && found.text.hasSuffix("something is wrong that repairing does not clear"))
    }

    @Test func `watchers see a removed ghost offline, last seen at the last renewal`() throws {
        let installation = try Installation()
        try installation.join("dead")
        try installation.open("bob", "s1", on: "dead")
        let listener = installation.listener.of(installation.keys("bob").events)
        _ = try listener.receive()
        let renewed = try installation.time(-30_000)
        try installation.set(
            installation.partitions.space.leases, "dead", "\(renewed) \(try installation.time(-20_000))")
        try installation.set(
            installation.sessions("bob"), "s1", "dead - phone a \(try installation.time(-40_000))")
        try expect(installation.doctor().repair().isHealthy)
        let told = try #require(try listener.receive().array?.last?.string)
        expect(told.hasPrefix("P bob ") && told.contains(#""status":"offline""#))
        expect(told.hasSuffix(#""lastSeen":\#(renewed)}"#))
        try expect(installation.redis.command("HEXISTS", "leases", "dead").int, equals: 0)
    }

    @Test func `while a slot moves it reports that, and afterwards it reads from the slot's new server`() throws {
        let installation = try healthy(.cluster)
        let cluster = try #require(installation.cluster)
        let key = installation.user("ana")
        try cluster.beginMove(slotOf: key)
        try cluster.moveKey(key)
        let failure = #expect(throws: DoctorFailure.self) { try installation.doctor().repair() }
        expect(failure?.description.hasSuffix("(tried 5 times)"), equals: true, "\(failure?.description ?? "")")
        try cluster.endMove(slotOf: key)
        // All keys are in their places, but no server has subscribed there yet.
        let found = try installation.doctor().examine()
        expect(kinds(found.findings), equals: [.unheardPartition], "\(found.text)")
        expect(found.counts.users == 3 && found.counts.sessions == 3)
    }

    @Test func `a server killed a moment ago does not count as running`() throws {
        let installation = try healthy(.oneServer)
        try installation.lease("killed", renewed: 0, until: 600_000)
        try installation.join("killed")
        // Its renewal is recent enough, but it has not renewed since the first look.
        let found = try installation.doctor().examine()
        expect(found.findings, equals: [], "\(found.text)")
    }

    @Test func `a dead server's damaged user does not keep its other sessions from being ended`() throws {
        let installation = try Installation()
        try installation.join("dead")
        for number in 0..<120 { try installation.open("u\(number)", "s", on: "dead") }
        try installation.leave("dead")
        try installation.redis.command("DEL", .string(installation.user("u7")))
        try installation.redis.command("SET", .string(installation.user("u7")), "x")
        let after = try installation.doctor().repair()
        expect(kinds(after.findings).contains(.wrongType), "\(after.text)")
        try expect(installation.redis.everywhere("KEYS", "*:sessions:*").array?.count, equals: 1)
        try expect(installation.field("u8", "status"), equals: "offline")
    }

    @Test func `a live session is not reaped, whatever was found before`() throws {
        let installation = try Installation()
        try installation.open("bob", "s1", on: installation.live)
        try Repair(try installation.doctor()).clear([
            Symptom(kind: .ghost, place: .session(UserID("bob")!, "s1")),
            Symptom(kind: .deadIncarnation, place: .incarnation(installation.live)),
            Symptom(kind: .malformedSession, place: .session(UserID("bob")!, "s1")),
            Symptom(
                kind: .listedWithoutSession,
                place: .listing(
                    installation.live, user: UserID("bob")!,
                    partition: installation.partitions.index(of: UserID("bob")!)
                )),
        ])
        try expect(installation.field("bob", "status"), equals: "online")
        try expect(installation.doctor().examine().isHealthy)
    }

    @Test func `hundreds of ghosts are counted, some are listed, and all are removed`() throws {
        let installation = try Installation()
        try installation.join("dead")
        for number in 0..<300 { try installation.open("u\(number)", "s", on: "dead") }
        try installation.leave("dead")
        let found = try installation.doctor().repair()
        let ghosts = try #require(found.repaired.first { $0.kind == .ghost })
        expect(ghosts.count == 300 && ghosts.subjects.count == DoctorReport.examples)
        expect(found.isHealthy, "\(found.text)")
        try expect(installation.redis.everywhere("KEYS", "*:sessions:*").array?.count, equals: 0)
    }

    @Test(arguments: [
        "redis+cluster://127.0.0.1:1", "redis+sentinel://127.0.0.1:1/people", "redis://127.0.0.1:1", "nonsense",
    ])
    func `a Redis that it cannot read is reported as such`(url: String) {
        let failure = #expect(throws: DoctorFailure.self) { try Doctor(url: url, configuration: ServerConfiguration()) }
        expect(failure?.description.contains(url == "nonsense" ? "redis://" : "127.0.0.1:1"), equals: true)
    }

    @Test func `it uses no KEYS command and scans in small steps`() throws {
        let installation = try Installation()
        for number in 0..<1_000 { try installation.open("u\(number)", "s", on: installation.live) }
        try installation.redis.everywhere("CONFIG", "RESETSTAT")
        try expect(installation.doctor().examine().isHealthy)
        let statistics = try #require(try installation.redis.everywhere("INFO", "commandstats").string)
        expect(!statistics.contains("cmdstat_keys:"))
        // A user and their sessions are two keys; a step scans a hundred.
        let scans = try #require(statistics.firstMatch(of: /cmdstat_scan:calls=([0-9]+)/))
        try expect(#require(Int(scans.1)) >= 15)
    }

    @Test func `an unreachable Redis is a failure, reported without its password`() throws {
        let failure = #expect(throws: DoctorFailure.self) {
            try Doctor(url: "redis://:geheim@127.0.0.1:1", configuration: ServerConfiguration())
        }
        expect(failure?.description, equals: "redis://127.0.0.1:1: Connection refused")
    }
}
