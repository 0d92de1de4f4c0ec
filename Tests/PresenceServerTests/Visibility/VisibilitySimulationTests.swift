import Expectations
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Visibility in simulated time: the absence of an event can be seen only where nothing else can happen.
@Suite struct VisibilitySimulationTests {
    private let ana = UserID("ana")!
    private let bob = UserID("bob")!

    /// Ana on one shard; bob, who watches her, on another.
    private func meet(_ seed: UInt64 = 1) throws -> (World, ana: SimulatedClient, bob: SimulatedClient) {
        let world = try World(shards: 2, seed: seed)
        let ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
        ana.send(.updateProfile(.init(displayName: .set("Ana"))))
        let bob = try SimulatedClient("bob", in: world).connect(to: world.shards[1])
        try world.run(for: 100)
        try bob.watch("ana")
        expect(bob.status(of: "ana"), equals: .online)
        return (world, ana, bob)
    }

    private func change(_ client: SimulatedClient, _ bodies: ClientMessage.Body..., in world: World) throws {
        let before = client.received.count
        for body in bodies { client.send(body) }
        try world.run(until: "\(client.user)'s changes are answered") {
            client.received[before...].count { if case .ok = $0 { true } else { false } } == bodies.count
        }
    }

    /// The messages about a user that a client received since an index.
    private func told(_ client: SimulatedClient, of user: UserID, since index: Int) -> [ServerMessage] {
        client.received[index...].filter {
            switch $0 {
            case .presence(user, _, _), .profile(user, _, _): true
            case .subscribed(_, let users, _, _), .users(_, let users, _): users.contains { $0.user == user }
            default: false
            }
        }
    }

    @Test func `a blocked user sees the other become unknown, and nothing after that`() throws {
        let (world, ana, bob) = try meet()
        let before = bob.received.count
        try change(ana, .block([self.bob]), in: world)
        try world.run(for: 100)
        expect(bob.presences[self.ana], equals: .unknown)
        expect(bob.profiles[self.ana], equals: ProfileRegister.none)
        expect(told(bob, of: self.ana, since: before).count, equals: 2)
        ana.send(.status(.init(status: .busy, text: .set("secret"))))
        ana.send(.updateProfile(.init(displayName: .set("Secret"))))
        ana.close(code: 1000)
        try world.run(for: 60_000)
        expect(told(bob, of: self.ana, since: before).count, equals: 2)
    }

    @Test func `a user who regains access sees the present state`() throws {
        let (world, ana, bob) = try meet()
        try change(ana, .block([self.bob]), .status(.init(status: .busy)), in: world)
        try change(ana, .unblock([self.bob]), in: world)
        try world.run(for: 100)
        expect(bob.status(of: "ana"), equals: .busy)
        guard case .profile(let profile) = bob.profiles[self.ana] else { Issue.record("no profile"); return }
        expect(profile.displayName, equals: "Ana")
    }

    @Test(arguments: UInt64(1)...20)
    func `changes under way during a block reach the blocked user only if they were made before it`(seed: UInt64) throws
    {
        let (world, ana, bob) = try meet(seed)
        let before = bob.received.count
        for number in 0..<10 {
            ana.send(.status(.init(status: number % 2 == 0 ? .busy : .auto)))
            if number == 5 { ana.send(.block([self.bob])) }
            if Bool.random(using: &world.random) { try world.run(for: 1) }
        }
        try world.run(for: 1_000)
        let shown = bob.shown("ana", since: before)
        // Own statuses are not sent, so there is at most one event for each change before the block, and the last event
        // is the block's.
        expect(shown.last, equals: .offline)
        expect(shown.count { $0 == .offline }, equals: 1)
        expect(shown.count <= 7)
        expect(bob.presences[self.ana], equals: .unknown)
    }

    @Test func `answers about a hidden user equal those about an unknown one, byte for byte`() throws {
        for hiding in [
            ClientMessage.Body.block([bob]), .setVisibility(.init(presence: .nobody)),
            .setVisibility(.init(presence: .contacts)),
        ] {
            let (world, ana, bob) = try meet()
            try change(ana, hiding, in: world)
            try world.run(for: 100)
            bob.send(.unsubscribe(users: [self.ana], conversations: []))
            try world.run(for: 100)
            for known in [nil, 0, 5, bob.presences[self.ana]?.version] as [Int64?] {
                func ask(_ name: String) throws -> [String] {
                    let user = UserID(name)!
                    let before = bob.texts.count
                    let versions = known.map { [user: ClientMessage.KnownVersions(presence: $0, profile: $0)] } ?? [:]
                    bob.send(.get(users: [user]))
                    bob.send(.subscribe(.init(users: [user], known: versions)))
                    bob.send(.subscribe(.init(users: [user])))
                    bob.send(.unsubscribe(users: [user], conversations: []))
                    try world.run(for: 1_000)
                    return bob.texts[before...].map {
                        $0.replacing("\"\(name)\"", with: "\"?\"").replacing(/"id":\d+/, with: "")
                    }
                }
                let answers = try ask("ana")
                expect(answers.count, equals: 4)
                try expect(answers, equals: ask("zed"))
            }
        }
    }

    private func many(_ name: String, _ count: Int) -> [UserID] { (0..<count).map { UserID("\(name)\($0)")! } }

    @Test func `an event of many ids lists none of them, and only shards that need the list read it`() throws {
        let (world, ana, bob) = try meet()
        try world.addShard()
        try world.run(until: "all shards are live") { world.shards.allSatisfy { $0.logic.link.isLive } }
        var longest = 0
        let publish = world.redis.publish
        world.redis.publish = { channel, payload in
            longest = max(longest, payload.count)
            publish(channel, payload)
        }
        let ids = (0..<999).map { UserID(String(repeating: "x", count: 120) + "\($0)")! }
        world.redis.counts = [:]
        try change(ana, .block(ids + [self.bob]), in: world)
        try world.run(for: 1_000)
        expect(longest < 1_500)
        // Ana's shard, where she has a session, and Bob's, where she is watched; the third is not involved.
        expect(world.redis.counts["SMEMBERS"], equals: 2)
        expect(bob.presences[self.ana] == .unknown && bob.profiles[self.ana] == ProfileRegister.none)
        try change(ana, .unblock(ids + [self.bob]), in: world)
        try world.run(for: 1_000)
        expect(bob.status(of: "ana"), equals: .online)
    }

    @Test(arguments: UInt64(1)...20)
    func `changes made after a long list reach no user whom it excludes`(seed: UInt64) throws {
        let (world, ana, bob) = try meet(seed)
        let before = bob.received.count
        for number in 0..<10 {
            ana.send(.status(.init(status: number % 2 == 0 ? .busy : .auto)))
            if number == 5 { ana.send(.block(many("x", 20) + [self.bob])) }
            if Bool.random(using: &world.random) { try world.run(for: 1) }
        }
        try world.run(for: 1_000)
        let shown = bob.shown("ana", since: before)
        expect(shown.last, equals: .offline)
        expect(shown.count { $0 == .offline }, equals: 1)
        expect(shown.count <= 7)
        expect(bob.presences[self.ana], equals: .unknown)
    }

    @Test(arguments: UInt64(1)...20)
    func `a user who hides last seen from many sees theirs no longer, and the ok waits for it`(seed: UInt64) throws {
        let (world, ana, bob) = try meet(seed)
        let before = bob.received.count
        bob.send(.block(many("x", 20) + [self.ana]))
        try world.run(for: Milliseconds.random(in: 0...6, using: &world.random))
        ana.close(code: 1000)
        let isDone = { bob.received[before...].contains { if case .ok = $0 { true } else { false } } }
        try world.run(until: "answered", isDone)
        bob.send(.get(users: [self.ana]))
        try world.run(for: 1_000)
        guard case .users(_, let users, _) = bob.received.last(where: { if case .users = $0 { true } else { false } })
        else { Issue.record("no answer"); return }
        // She may not have left yet, as far as this shard knows.
        let shown = users.first?.presence
        expect(shown?.status != .offline || shown == .unknown)
        expect(bob.presences[self.ana], equals: .unknown)
    }

    @Test func `long lists that change all the time are read at most twice a second`() throws {
        let (world, ana, bob) = try meet()
        world.redis.counts = [:]
        for round in 0..<20 {
            ana.send(round % 2 == 0 ? .block(many("x", 11)) : .unblock(many("x", 11)))
            try world.run(for: 50)
        }
        // Each read fetches one list.
        expect(1...6 ~= world.redis.counts["SMEMBERS"] ?? 0)
        ana.send(.status(.init(status: .busy)))
        try world.run(for: 2_000)
        expect(bob.status(of: "ana"), equals: .busy)
        expect(world.shards.allSatisfy { $0.logic.policies.frozenCount == 0 })
        // Even if she leaves meanwhile, everything is answered.
        ana.send(.block(many("y", 11)))
        try world.run(for: 20)
        ana.send(.unblock(many("y", 11)))
        ana.close(code: 1000)
        bob.send(.unsubscribe(users: [self.ana], conversations: []))
        try world.run(for: 3_000)
        expect(world.shards.allSatisfy { $0.logic.policies.frozenCount == 0 })
    }

    @Test func `a user always sees themselves`() throws {
        let (world, ana, _) = try meet()
        try ana.watch("ana")
        try change(ana, .setVisibility(.init(presence: .nobody, lastSeen: .nobody)), .block([self.ana]), in: world)
        ana.send(.status(.init(status: .busy)))
        try world.run(for: 100)
        expect(ana.status(of: "ana"), equals: .busy)
    }

    @Test func `a user visible to contacts shows nothing to others, and contacts see no flicker`() throws {
        let (world, ana, bob) = try meet()
        let cy = try SimulatedClient("cy", in: world).connect(to: world.shards[1]).watch("ana")
        try change(ana, .addContacts([self.bob]), in: world)
        let before = (bob.received.count, cy.received.count)
        // The shard of bob and cy has no list yet and has to read it first.
        ana.send(.setVisibility(.init(presence: .contacts)))
        ana.send(.status(.init(status: .busy)))
        try world.run(for: 1_000)
        expect(bob.shown("ana", since: before.0), equals: [.busy])
        expect(cy.shown("ana", since: before.1), equals: [.offline])
        try change(ana, .addContacts([UserID("cy")!]), .removeContacts([self.bob]), in: world)
        try world.run(for: 100)
        expect(cy.status(of: "ana"), equals: .busy)
        expect(bob.presences[self.ana], equals: .unknown)
    }

    @Test func `a user without access to last seen sees the other offline, and not since when`() throws {
        let (world, ana, bob) = try meet()
        try change(ana, .setVisibility(.init(lastSeen: .nobody)), in: world)
        ana.send(.status(.init(status: .busy)))
        try world.run(for: 100)
        expect(bob.status(of: "ana"), equals: .busy)
        ana.close(code: 1000)
        try world.run(for: 5_000)
        expect(bob.presences[self.ana], equals: .unknown)
        guard case .profile = bob.profiles[self.ana] else { Issue.record("no profile"); return }
        bob.send(.get(users: [self.ana]))
        try world.run(for: 100)
        guard case .users(_, let users, _) = bob.received.last else { Issue.record("no answer"); return }
        expect(users.first?.presence, equals: .unknown)
    }

    @Test func `a user who hides their last seen loses access to that of others`() throws {
        let (world, ana, bob) = try meet()
        ana.close(code: 1000)
        try world.run(for: 1_000)
        expect(bob.presences[self.ana]?.lastSeen != nil)
        try change(bob, .setVisibility(.init(lastSeen: .nobody)), in: world)
        try world.run(for: 10)
        expect(bob.presences[self.ana], equals: .unknown)
        try change(bob, .setVisibility(.init(lastSeen: .contacts)), in: world)
        try world.run(for: 10)
        expect(bob.presences[self.ana], equals: .unknown)
        try change(bob, .addContacts([self.ana]), in: world)
        try world.run(for: 10)
        expect(bob.presences[self.ana]?.lastSeen != nil)
        // The same holds on a new connection, before any policy has been read.
        try change(bob, .removeContacts([self.ana]), in: world)
        bob.lost()
        let again = try SimulatedClient("bob", in: world).connect(to: world.shards[0]).watch("ana")
        expect(again.presences[self.ana], equals: .unknown)
    }

    @Test func `a block drops pending changes for a client in the background`() throws {
        let (world, ana, bob) = try meet()
        bob.send(.activity(.background))
        try world.run(for: 100)
        let before = bob.received.count
        ana.send(.status(.init(status: .busy, text: .set("secret"))))
        try world.run(for: 100)
        try change(ana, .block([self.bob]), in: world)
        ana.send(.status(.init(status: .auto)))
        try world.run(for: 100)
        bob.send(.activity(.active))
        try world.run(for: 100)
        expect(bob.shown("ana", since: before), equals: [.offline])
        expect(bob.presences[self.ana], equals: .unknown)
    }

    @Test func `a block drops pending changes for a slow client`() throws {
        let (world, ana, bob) = try meet()
        bob.isSlow = true
        ana.send(.status(.init(status: .busy)))
        try world.run(for: 100)
        let before = bob.received.count
        ana.send(.status(.init(status: .auto, text: .set("secret"))))
        try world.run(for: 100)
        try change(ana, .block([self.bob]), in: world)
        // Time for bob's server to receive the event.
        try world.run(for: 100)
        bob.readsAgain()
        try world.run(for: 100)
        expect(bob.shown("ana", since: before), equals: [.offline])
    }

    @Test func `a shard that missed a block applies it before any later change`() throws {
        let (world, ana, bob) = try meet()
        let before = bob.received.count
        world.shards[1].cutSubscription()
        ana.send(.block([self.bob]))
        ana.send(.status(.init(status: .busy, text: .set("secret"))))
        try world.run(for: 10_000)
        expect(!bob.isStale)
        expect(bob.shown("ana", since: before), equals: [.offline])
        expect(bob.profiles[self.ana], equals: ProfileRegister.none)
    }

    @Test func `a reconnecting client that sends known versions loses registers that it may not see`() throws {
        let (world, ana, bob) = try meet()
        let known = ClientMessage.KnownVersions(
            presence: bob.presences[self.ana]?.version, profile: bob.profiles[self.ana]?.number)
        bob.lost()
        try change(ana, .block([self.bob]), in: world)
        try bob.connect(to: world.shards[0])
        bob.send(.subscribe(.init(users: [self.ana], known: [self.ana: known])))
        try world.run(for: 100)
        expect(bob.presences[self.ana], equals: .unknown)
        expect(bob.profiles[self.ana], equals: ProfileRegister.none)
    }

    @Test func `an acknowledged block holds on the same shard in the next answer`() throws {
        let (world, ana, _) = try meet()
        let bob = try SimulatedClient("bob", in: world).connect(to: world.shards[0]).watch("ana")
        try change(ana, .block([self.bob]), in: world)
        bob.send(.get(users: [self.ana]))
        try world.run(for: 0)
        guard case .users(_, let users, _) = bob.received.last else { Issue.record("no answer"); return }
        expect(users.first?.presence, equals: .unknown)
    }

    @Test func `a change reaches all of the user's sessions, and both lists can be read`() throws {
        let (world, ana, _) = try meet()
        let other = try SimulatedClient("ana", in: world).connect(to: world.shards[1])
        try change(
            ana, .setVisibility(.init(lastSeen: .contacts)), .addContacts([self.bob, UserID("cy")!]),
            .block([UserID("eve")!]), in: world)
        try world.run(for: 100)
        let expected = OwnVisibility(visibility: .init(lastSeen: .contacts), contacts: 2, blocks: 1)
        for client in [ana, other] {
            let told = client.received.compactMap { if case .ownVisibility(let own) = $0 { own } else { nil } }
            expect(told.last, equals: expected)
        }
        other.send(.getVisibility)
        try world.run(for: 100)
        guard case .visibility(_, let lists, false) = other.received.last else { Issue.record("no answer"); return }
        expect(
            lists,
            equals: .init(
                visibility: .init(lastSeen: .contacts), contacts: [self.bob, UserID("cy")!],
                blocks: [UserID("eve")!]))
    }

    @Test func `a request beyond a list's limit is rejected as a whole`() throws {
        let world = try World(shards: 1) { $0[VisibilityRequests.mostBlocks] = 3 }
        let ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
        try change(ana, .block(["a", "b"].map { UserID($0)! }), in: world)
        ana.send(.block(["b", "c", "d"].map { UserID($0)! }))
        try world.run(for: 100)
        guard case .error(let error) = ana.received.last else { Issue.record("not refused"); return }
        expect(error.code, equals: .tooMany)
        try change(ana, .block(["b", "c"].map { UserID($0)! }), .unblock(["a"].map { UserID($0)! }), in: world)
        ana.send(.getVisibility)
        try world.run(for: 100)
        guard case .visibility(_, let lists, _) = ana.received.last else { Issue.record("no answer"); return }
        expect(lists.blocks.map(\.string), equals: ["b", "c"])
    }

    @Test func `a change is answered only with its event, and unknown if the subscription is lost`()
        throws
    {
        let world = try World(shards: 1)
        let ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
        world.shards[0].subscription.isDeaf = true
        let before = ana.received.count
        ana.send(.block([bob]))
        try world.run(for: 1_000)
        expect(ana.received.count, equals: before)
        try world.run(for: 10_000)
        let errors = ana.received[before...].compactMap { if case .error(let error) = $0 { error } else { nil } }
        expect(errors.map(\.code), equals: [.unavailable])
        world.shards[0].subscription.isDeaf = false
        try world.run(for: 10_000)
        expect(!ana.isStale)
    }

    @Test func `no policies and topics are left without watchers`() throws {
        let (world, ana, bob) = try meet()
        let cy = try SimulatedClient("cy", in: world).connect(to: world.shards[1]).watch("ana", "bob")
        try change(ana, .block([self.bob]), .setVisibility(.init(lastSeen: .nobody)), in: world)
        try change(bob, .setVisibility(.init(lastSeen: .contacts)), .addContacts([UserID("x")!]), in: world)
        try world.run(for: 1_000)
        for client in [ana, bob, cy] { client.close(code: 1000) }
        try world.run(for: 30_000)
        for shard in world.shards {
            expect(shard.logic.watchers.topics.allSatisfy { $0 == nil })
            expect(shard.logic.watchers.subscriptionCount, equals: 0)
            expect(shard.logic.policies.count, equals: 0)
            expect(shard.logic.policies.frozenCount, equals: 0)
        }
    }
}
