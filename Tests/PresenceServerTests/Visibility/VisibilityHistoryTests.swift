import Expectations
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Random histories in which users change their visibility while faults occur: no client ever receives a register made
/// after its owner hid it from that user, and after a quiet period every client shows exactly what it may see. While
/// one user blocks another, neither can write or type to the other.
@Suite struct VisibilityHistoryTests {
    @Test(arguments: UInt64(1)...20)
    func `no client receives hidden state`(seed: UInt64) throws {
        let history = try VisibilityHistory(seed: seed)
        try history.play(steps: 150)
        try history.settle()
        try history.check()
    }

    @Test func `a send script that ignores blocks is detected`() throws {
        let mistake = ScriptMistake(name: "a blocked user can write", at: "blocked-writes")
        let redis = try SimulatedRedis(substitutes: mistake.substitutes(in: [.send]))
        let isFound = try (UInt64(1)...20).contains { seed in
            let history = try VisibilityHistory(seed: seed, on: redis)
            try history.play(steps: 150)
            return history.talks.leaks.contains { $0.contains("was told message") }
        }
        expect(isFound)
    }
}

/// All published events in order, and each user's visibility at each point.
final class VisibilityTruth {
    struct Policy {
        var presence = "e"
        var lastSeen = "e"
        var lists: [String: Set<String>] = [:]

        /// 0 nothing, 1 without last seen, 2 everything.
        func view(for viewer: String) -> Int {
            if lists["blocks"]?.contains(viewer) == true || !admits(viewer, presence) { return 0 }
            return admits(viewer, lastSeen) ? 2 : 1
        }

        private func admits(_ viewer: String, _ audience: String) -> Bool {
            audience == "e" || (audience == "c" && lists["contacts"]?.contains(viewer) == true)
        }
    }

    private(set) var policies: [String: Policy] = [:]
    /// Reads a list from Redis, for changes too large for an event.
    var members: (_ list: String, _ user: String) -> Set<String> = { _, _ in [] }
    /// All policies after the change of that number.
    private var after: [[String: Policy]] = [[:]]
    /// The number of policy changes before a register's version.
    private var made: [String: Int] = [:]

    func publish(_ payload: [UInt8]) {
        let words = String(decoding: payload, as: UTF8.self).split(separator: " ").map(String.init)
        switch words.first {
        case "P", "F": made["\(words[0]) \(words[1]) \(words[2])"] = after.count - 1
        case "V":
            var policy = policies[words[1]] ?? Policy()
            policy.presence = words[4]
            policy.lastSeen = words[5]
            if words.count == 10, words[9] == "*" { policy.lists[words[8]] = members(words[8], words[1]) }
            for word in words[9...] where word != "*" {
                if word.first == "+" {
                    policy.lists[words[8], default: []].insert(String(word.dropFirst()))
                } else {
                    policy.lists[words[8], default: []].remove(String(word.dropFirst()))
                }
            }
            policies[words[1]] = policy
            after.append(policies)
        default: break
        }
    }

    /// The most that a person has let a viewer see at any time since a version of a register was made.
    func most(of person: String, for viewer: String, since kind: String, _ version: Int64) -> Int? {
        guard let first = made["\(kind) \(person) \(version)"] else { return nil }
        return after[first...].map { $0[person]?.view(for: viewer) ?? 2 }.max()
    }

    /// The view of a person that a viewer must have now.
    func view(of person: String, for viewer: String) -> Int {
        if person == viewer { return 2 }
        let shown = policies[person]?.view(for: viewer) ?? 2
        return shown == 2 && (policies[viewer]?.view(for: person) ?? 2) < 2 ? 1 : shown
    }
}

/// One history: three shards, and a few users, each of whom watches all.
final class VisibilityHistory {
    private let world: World
    private let truth = VisibilityTruth()
    let talks: VisibilityTalks
    private let names = ["ana", "bob", "cy", "dee"]
    private var clients: [SimulatedClient] = []
    private var asked: [(client: SimulatedClient, id: Int64, users: [UserID])] = []
    private var refused: [(client: SimulatedClient, users: [UserID])] = []
    private var leaks: [String] = []
    private var told = 0
    private let seed: UInt64
    /// A generator of its own: the steps do not depend on the number of messages in the networks.
    private var random: SplitMix64

    /// - Parameter redis: An instance that earlier histories have used, or `nil` for a new one.
    init(seed: UInt64, on redis: SimulatedRedis? = nil) throws {
        self.seed = seed
        random = SplitMix64(seed &* 0x9E37_79B9 &+ 79)
        world = try World(shards: 3, seed: seed, redis: redis) { $0.redis.interests = seed.isMultiple(of: 2) }
        talks = VisibilityTalks(world)
        let partitions = Partitions(count: world.configuration.partitions)
        truth.members = { [redis = world.redis] list, user in
            let keys = partitions.keys(of: UserID(user)!)
            let key = list == "blocks" ? keys.blocks(UserID(user)!) : keys.contacts(UserID(user)!)
            let names = try? redis.command(["SMEMBERS", key]).get().array?.compactMap(\.string)
            return Set(names ?? [])
        }
        let publish = world.redis.publish
        world.redis.publish = { [truth] channel, payload in
            truth.publish(payload)
            publish(channel, payload)
        }
    }

    private func pick(_ range: Range<Int>) -> Int { Int.random(in: range, using: &random) }
    private func anyone() -> SimulatedClient? { clients.filter(\.isConnected).randomElement(using: &random) }
    private func someone() -> [UserID] { [UserID(names[pick(0..<names.count)])!] }
    /// Sometimes together with so many others that the event does not list them.
    private func some() -> [UserID] {
        someone() + (pick(0..<3) == 0 ? (0..<11).map { UserID("other\($0)-\(pick(0..<3))")! } : [])
    }
    private func anyShard() -> SimulatedShard { world.shards[pick(0..<world.shards.count)] }
    private var everyone: [UserID] { names.compactMap { UserID($0) } }

    func play(steps: Int) throws {
        for _ in 0..<steps {
            try step(pick(0..<33))
            // Usually so short that much is under way.
            try world.run(for: Milliseconds(pick(0..<4) == 0 ? pick(0..<3_000) : pick(0..<6)))
        }
    }

    private func step(_ kind: Int) throws {
        switch kind {
        case 0...2: try connect()
        case 3: anyone()?.close(code: 1000)
        case 4: anyone()?.lost()
        case 5, 6:
            let chosen = ChosenStatus.allCases.randomElement(using: &random)!
            anyone()?.send(.status(.init(status: chosen, text: .set("text \(pick(0..<100))"))))
        case 7: anyone()?.send(.updateProfile(.init(displayName: .set("Name \(pick(0..<100))"))))
        case 8: anyone()?.send(.activity(Activity.allCases.randomElement(using: &random)!))
        case 9, 10: anyone().map { talks.block($0, some()) }
        case 11, 12: anyone().map { talks.unblock($0, some()) }
        case 13, 14: anyone()?.send(.addContacts(some()))
        case 15: anyone()?.send(.removeContacts(some()))
        case 16, 17:
            anyone()?.send(.setVisibility(.init(presence: Audience.allCases.randomElement(using: &random))))
        case 18: anyone()?.send(.setVisibility(.init(lastSeen: Audience.allCases.randomElement(using: &random))))
        case 19: anyone()?.send(.get(users: everyone))
        case 20:
            guard let client = anyone() else { return }
            let users = someone()
            client.send(.unsubscribe(users: users, conversations: []))
            subscribe(client, to: users)
        case 21: anyShard().cut(pick(0..<2) == 0 ? .commands : .lease)
        case 22: anyShard().cutSubscription()
        case 23: anyShard().cutAll()
        default: talk(kind)
        }
    }

    private func talk(_ kind: Int) {
        guard let client = anyone() else { return }
        let talk = talks.talks(of: client).randomElement(using: &random)
        switch kind {
        case 24, 25: talks.create(client, with: names[pick(0..<names.count)])
        case 26: talks.follow(client)
        case 27...29: if let talk { talks.write(client, in: talk) }
        default: if let talk { talks.type(client, in: talk) }
        }
    }

    private func connect() throws {
        let client = SimulatedClient(names[pick(0..<names.count)], in: world)
        client.onMessage = { [unowned self, unowned client] in receive($0, client) }
        try client.connect(to: anyShard(), device: pick(0..<2) == 0 ? "device" : nil)
        guard client.isConnected else { return }
        clients.append(client)
        subscribe(client, to: everyone)
        talks.follow(client)
    }

    private func subscribe(_ client: SimulatedClient, to users: [UserID]) {
        asked.append((client, client.nextRequest, users))
        client.send(.subscribe(.init(users: users)))
    }

    private func receive(_ message: ServerMessage, _ client: SimulatedClient) {
        judge(message, for: client.user)
        talks.receive(message, client)
        // A rejected client watches none of these users, and asks again once all is well.
        guard case .error(let error) = message,
            let place = asked.firstIndex(where: { $0.client === client && $0.id == error.id })
        else { return }
        refused.append((client, asked[place].users))
    }

    /// Checks that a message has nothing that was hidden from its reader since before it was made.
    private func judge(_ message: ServerMessage, for viewer: String) {
        switch message {
        case .presence(let user, let presence, _): judge(presence, of: user.string, for: viewer)
        case .profile(let user, let profile, _): judge(profile, of: user.string, for: viewer)
        case .subscribed(_, let users, _, _), .users(_, let users, _):
            for user in users {
                if let presence = user.presence { judge(presence, of: user.user.string, for: viewer) }
                if let profile = user.profile { judge(profile, of: user.user.string, for: viewer) }
            }
        default: break
        }
    }

    private func judge(_ presence: Presence, of user: String, for viewer: String) {
        guard presence.version > 0, user != viewer else { return }
        told += 1
        guard let most = truth.most(of: user, for: viewer, since: "P", presence.version) else {
            return leaks.append("\(viewer) was told a presence of \(user) that was never made")
        }
        if most == 0 || (most == 1 && presence.status == .offline) {
            leaks.append("\(viewer) was told \(presence) of \(user) at \(world.now)")
        }
    }

    private func judge(_ profile: ProfileRegister, of user: String, for viewer: String) {
        guard case .profile(let profile) = profile, user != viewer else { return }
        guard let most = truth.most(of: user, for: viewer, since: "F", profile.version) else {
            return leaks.append("\(viewer) was told a profile of \(user) that was never made")
        }
        if most == 0 { leaks.append("\(viewer) was told \(profile) of \(user) at \(world.now)") }
    }

    func settle() throws {
        try world.run(for: 90_000)
        for client in clients where client.isConnected {
            client.send(.activity(.active))
        }
        for (client, users) in refused where client.isConnected { client.send(.subscribe(.init(users: users))) }
        try world.run(for: 10_000)
    }

    func check() throws {
        expect(leaks.isEmpty, "seed \(seed): \(leaks.prefix(5))")
        expect(talks.leaks.isEmpty, "seed \(seed): \(talks.leaks.prefix(5))")
        // Without any event or hidden user the history would prove little.
        expect(told > 0 && truth.policies.count > 1, "seed \(seed): nothing happened")
        for shard in world.shards {
            expect(shard.logic.link.isLive, "seed \(seed): \(shard.name) is not live")
            expect(shard.logic.policies.frozenCount, equals: 0, "seed \(seed): \(shard.name) has something frozen")
        }
        for user in everyone {
            let presence = try register(.presence, of: user)
            let profile = try register(.profile, of: user)
            for client in clients where client.isConnected {
                let view = truth.view(of: user.string, for: client.user)
                let isHidden = view == 0 || (view == 1 && presence.isOffline)
                expect(
                    client.presences[user]?.version, equals: isHidden ? 0 : presence.version,
                    "seed \(seed): \(client.user) sees the presence of \(user) wrongly, with view \(view)")
                expect(
                    client.profiles[user]?.number, equals: view == 0 ? 0 : profile.version,
                    "seed \(seed): \(client.user) sees the profile of \(user) wrongly, with view \(view)")
            }
        }
    }

    private func register(_ kind: RegisterKind, of user: UserID) throws -> Register {
        let keys = Partitions(count: world.configuration.partitions).keys(of: user)
        let answer = try world.redis.command(["HMGET", keys.user(user)] + PersonRead.fields).get()
        let (_, version, body) = PersonRead(answer).registers[kind == .presence ? 0 : 1]
        return version == 0 ? Register() : RegisterEncoder.object(version: version, body: body)
    }
}

extension ProfileRegister {
    /// Its version, 0 without a profile.
    var number: Int64 {
        if case .profile(let profile) = self { profile.version } else { 0 }
    }
}
