import Foundation
import PresenceProtocol
import Redis

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// A random history of three people with mailboxes, passwords, and identities of two providers, on two servers. They sign up and
/// in by all of these and as guests, with their own addresses and with those of others; upgrade guests, link and take away
/// identities, prove addresses, change addresses and passwords, reset them, and delete accounts. A backend disables and bans
/// accounts. Between any script of a server and its answer the server may die, lose its connections, be slow, or pause; in half
/// of the histories Redis has faults, too.
///
/// `SignInHistory+Rules` has what must hold after each script, and `SignInHistory+End` what must hold at the end.
final class SignInHistory: DrawnHistory {
    struct Person {
        let name: String
        let addresses: [String]
        let passwords: [String]
        /// By provider.
        var identities: [(provider: String, subject: String)] {
            [("test", name), ("test", name + "-2"), ("other", name)]
        }
    }

    /// A device that a person has signed in on.
    struct Device {
        let user: String
        let person: Person
        var access: String
        var refresh: String
    }

    static let people = [
        Person(
            name: "ana", addresses: ["ana@example.org", "ana.b@example.org"],
            passwords: ["correct horse 1", "second horse 1"]),
        Person(name: "bob", addresses: ["bob@example.org"], passwords: ["correct horse 2", "second horse 2"]),
        Person(name: "mal", addresses: ["mal@example.org"], passwords: ["correct horse 3", "second horse 3"]),
    ]
    static let addresses = people.flatMap(\.addresses)
    static let keep: Milliseconds = 600_000

    let accounts: AccountWorld
    let providers: [SimulatedProvider]
    private var random: SplitMix64
    /// For choices of people.
    var choice: SplitMix64
    private let trouble: Int
    private var redisTrouble: RedisTrouble?
    private(set) var isQuiet = true
    private var fault: HistoryFault?
    private var pending: [(call: SimulatedCall, heard: (SimulatedCall) -> Void)] = []
    private var places = 0
    var devices: [Device] = []
    var past = SignInPast()
    /// Actions that belong together; other steps come between them.
    var plans: [() throws -> Void] = []
    /// The account that a script changes, as it is before.
    var before: StoredAccount?
    /// The person who knows a password, by its hash.
    var knowers: [[UInt8]: String] = [:]
    private(set) var tally: [String: Int] = [:]

    init(seed: UInt64, on redis: SimulatedRedis) throws {
        random = SplitMix64(seed &* 0x9E37_79B9 &+ 83)
        choice = SplitMix64(seed &* 0x9E37_79B9 &+ 89)
        trouble = [0, 0, 1, 3, 6].randomElement(using: &random)!
        accounts = try AccountWorld(seed: seed, partitions: 4, redis: redis) {
            $0[Accounts.providers] = ["test", "other"].map(SimulatedProvider.setting(of:))
            $0[Accounts.guests] = true
            $0[Accounts.keepGuests] = Self.keep
            $0[Accounts.mailCodeSignUp] = true
        }
        providers = try ["test", "other"].map { [accounts] in try SimulatedProvider($0, knownTo: accounts) }
        if trouble > 0, seed.isMultiple(of: 2) { redisTrouble = RedisTrouble(accounts.world) }
        redis.runs = { [unowned self] script, arguments in willRun(script, arguments) }
        redis.ran = { [unowned self] script, arguments, answer in
            ran(script, arguments, answer)
            maybeHarm(script, arguments)
        }
    }

    var world: World { accounts.world }
    var redis: SimulatedRedis { world.redis }
    var partitions: Partitions { world.shards[0].logic.partitions }
    /// Without faults, servers leave no claims behind.
    var isCalm: Bool { trouble == 0 }

    func draw(_ range: ClosedRange<Int>) -> Int { .random(in: range, using: &random) }
    func pick<Element>(_ elements: [Element]) -> Element { elements[draw(0...elements.count - 1)] }
    func fail(_ text: String) { fault = fault ?? HistoryFault(description: "at \(world.now): \(text)") }
    func count(_ what: String) { tally[what, default: 0] += 1 }

    // MARK: Course

    func play() throws {
        isQuiet = false
        for _ in 0..<100 {
            try step()
            // Usually so short that much is under way.
            try world.run(for: Milliseconds(draw(0...3) == 0 ? draw(0...2_000) : draw(0...25)))
            receive()
            if let fault { throw fault }
        }
        try quieten()
        try checkEnd()
        if let fault { throw fault }
    }

    private func quieten() throws {
        isQuiet = true
        redisTrouble?.end()
        try world.calm()
        try world.run(for: 40_000)
        receive()
        try world.run(until: "nothing is unfinished", within: 120_000) { [self] in
            (0..<partitions.count).allSatisfy {
                (try? redis.command(["SCARD", partitions.keys($0).unfinished]).get().int) == 0
            }
        }
        if let fault { throw fault }
    }

    // MARK: Calls

    /// Each call is from an address of its own, so that no limit of an address is met.
    func ask(
        _ method: String, _ path: String, _ body: [String: Any] = [:], token: String? = nil,
        heard: @escaping (SimulatedCall) -> Void = { _ in }
    ) {
        guard let shard = world.shards.filter({ !$0.isDead }).randomElement(using: &random) else { return }
        places += 1
        let address = "10.\(places / 65_536).\(places / 256 % 256).\(places % 256)"
        pending.append((SimulatedCall(method, path, body, token: token, from: address, to: shard), heard))
    }

    private func receive() {
        let answered = pending.filter { $0.call.status != nil }
        pending.removeAll { $0.call.status != nil }
        for (call, heard) in answered {
            if call.status == 500 { fail("a request was answered \(call.status!) \(call.json)") }
            heard(call)
        }
    }

    /// The answer of a call when all is quiet.
    func answer(
        _ method: String, _ path: String, _ body: [String: Any] = [:], token: String? = nil
    ) throws -> SimulatedCall {
        var answer: SimulatedCall?
        ask(method, path, body, token: token) { answer = $0 }
        try world.run(until: "\(method) \(path) is answered") { [self] in
            receive()
            return answer != nil
        }
        return answer!
    }

    /// A person signs in, or up.
    func enter(_ person: Person, _ body: [String: Any], at path: String = "/v1/sessions") {
        let since = world.now
        var body = body
        // So the script that creates an account tells whose it is.
        if body["password"] == nil || path == "/v1/accounts" { body["displayName"] = person.name }
        ask("POST", path, body) { [unowned self] call in receive(call, of: person, since: since) }
    }

    private func receive(_ call: SimulatedCall, of person: Person, since: Milliseconds) {
        guard let user = call.json["user"] as? String, let access = call.json["accessToken"] as? String,
            let refresh = call.json["refreshToken"] as? String
        else { return }
        count("entered")
        if !past.held(user, person.name, since: since) { fail("\(person.name) has entered \(past.name(user))") }
        devices.append(Device(user: user, person: person, access: access, refresh: refresh))
    }

    // MARK: Faults

    private func maybeHarm(_ script: Script, _ arguments: [String]) {
        guard !isQuiet, Script.accounts.contains(script), arguments.count > 2, draw(0...99) < trouble,
            let place = world.shards.firstIndex(where: { $0.logic.link.incarnation == arguments[2] })
        else { return }
        count("harms")
        world.after(0) { [unowned self] in harm(place) }
    }

    private func harm(_ place: Int) {
        let shard = world.shards[place]
        guard !shard.isDead, !isQuiet else { return }
        switch draw(0...(redisTrouble == nil ? 6 : 8)) {
        case 0...2:
            shard.die()
            world.replaceShard(at: place)
            for provider in providers { try? provider.tell(world.shards[place]) }
        case 3: shard.cut(.commands)
        case 4: shard.cutAll()
        case 5: shard.hold(.commands, for: Milliseconds(draw(100...4_500)))
        case 6:
            shard.stop()
            world.after(Milliseconds(draw(10...4_000))) { shard.wakeUp() }
        default: redisTrouble?.begin(draw)
        }
    }
}
