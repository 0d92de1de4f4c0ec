import Expectations
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Rules with durations, in simulated time: linger, takeover and leases, without any flicker.
@Suite struct PresenceSimulationTests {
    @Test func `a connect and a disconnect are each shown once`() throws {
        let world = try World(shards: 2)
        let watcher = try SimulatedClient("ana", in: world).connect(to: world.shards[0]).watch("bob")
        expect(watcher.presences[UserID("bob")!], equals: .unknown)
        let bob = try SimulatedClient("bob", in: world).connect(to: world.shards[1])
        try world.run(until: "bob is online") { watcher.status(of: "bob") == .online }
        bob.close(code: 1000)
        try world.run(until: "bob is offline") { watcher.status(of: "bob") == .offline }
        try world.run(for: 60_000)
        expect(watcher.shown("bob"), equals: [.online, .offline])
    }

    @Test func `a lost connection is shown only after linger, with the time of its last message`() throws {
        let world = try World(shards: 2)
        let watcher = try SimulatedClient("ana", in: world).connect(to: world.shards[0]).watch("bob")
        let bob = try SimulatedClient("bob", in: world).connect(to: world.shards[1])
        try world.run(for: 5_000)
        let lostAt = world.redisNow
        bob.lost()
        try world.run(for: world.configuration.linger - 10)
        expect(watcher.status(of: "bob"), equals: .online)
        try world.run(for: 30)
        let presence = try #require(watcher.presences[UserID("bob")!])
        expect(presence.status, equals: .offline)
        expect(abs(presence.lastSeen! - lostAt) <= 5_010)
        expect(presence.lastSeen! <= lostAt)
    }

    @Test func `a user who returns within linger, on any server, is never shown offline`() throws {
        let world = try World(shards: 2)
        let watcher = try SimulatedClient("ana", in: world).connect(to: world.shards[0]).watch("bob")
        let bob = try SimulatedClient("bob", in: world).connect(to: world.shards[1], device: "phone")
        try world.run(until: "bob is online") { watcher.status(of: "bob") == .online }
        for shard in [0, 1, 0] {
            bob.lost()
            try world.run(for: 9_000)
            try bob.connect(to: world.shards[shard], device: "phone")
            try world.run(for: 20_000)
        }
        expect(watcher.shown("bob"), equals: [.online])
    }

    @Test(arguments: [0, 60_000] as [Milliseconds])
    func `a draining server moves all clients to another, and none is shown offline`(duration: Milliseconds) throws {
        let world = try World(shards: 2) { $0.drain.duration = duration }
        let watcher = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
        let people = try (0..<20).map {
            try SimulatedClient("p\($0)", in: world).connect(to: world.shards[1], device: "phone")
        }
        try people.forEach { _ = try watcher.watch($0.user) }
        let began = world.now
        var closes: [Milliseconds] = []
        var waits: Set<Milliseconds> = []
        for person in people {
            person.onClose = { [unowned world, unowned person] code in
                closes.append(world.now - began)
                let wait = person.closeReason.split(separator: ":").last.flatMap { Milliseconds($0.dropLast()) } ?? 0
                expect(code == .serviceRestart && wait < world.configuration.linger)
                waits.insert(wait)
                world.after(wait) { person.dial(world.shards[0], device: "phone") }
            }
        }
        world.shards[1].input { $0.drain() }
        // Clients that are still connected are served as usual.
        try world.run(for: duration / 2)
        if duration > 0 {
            people[19].send(.status(.init(status: .busy, text: .set("Moving"))))
            try world.run(until: "it is told") { watcher.status(of: "p19") == .busy }
        }
        try world.run(until: "all are sent away") { world.shards[1].logic.departures == 0 }
        world.shards[1].input { $0.link.renewOnceMore {} }
        try world.run(for: 200)
        world.shards[1].die()
        try world.run(for: 120_000)
        expect(waits.count == 20 && closes.count == 20)
        expect((closes.max() ?? 0) >= duration * 19 / 20 && (closes.max() ?? 0) <= duration + 10)
        for person in people {
            expect(person.isConnected && !watcher.shown(person.user).contains(.offline))
        }
    }

    @Test func `a device that vanishes is shown offline within the bound, and not before its linger`() throws {
        let world = try World(shards: 1)
        let watcher = try SimulatedClient("ana", in: world).connect(to: world.shards[0]).watch("bob")
        let bob = try SimulatedClient("bob", in: world).connect(to: world.shards[0])
        try world.run(for: 61_000)
        let heartbeat = world.configuration.heartbeat
        bob.vanish()
        let vanishedAt = world.now
        try world.run(until: "bob is offline") { watcher.status(of: "bob") == .offline }
        let took = world.now - vanishedAt
        expect(took <= heartbeat.interval + heartbeat.timeout + world.configuration.linger + 10)
        expect(took > world.configuration.linger)
    }

    @Test func `a device's new connection replaces its older one, invisibly to watchers`() throws {
        let world = try World(shards: 2)
        let watcher = try SimulatedClient("ana", in: world).connect(to: world.shards[0]).watch("bob")
        let first = try SimulatedClient("bob", in: world).connect(to: world.shards[0], device: "d", kind: .phone)
        try world.run(for: 100)
        let second = try SimulatedClient("bob", in: world).connect(to: world.shards[1], device: "d", kind: .phone)
        try world.run(until: "the first is closed") { first.closeCode != nil }
        expect(first.closeCode, equals: .replaced)
        try world.run(for: 60_000)
        expect(second.isConnected)
        expect(watcher.shown("bob"), equals: [.online])
    }

    @Test func `a killed server's users are offline within lease and two sweeps, last seen at its last renewal`()
        throws
    {
        let world = try World(shards: 2)
        let watcher = try SimulatedClient("ana", in: world).connect(to: world.shards[0]).watch("bob", "cy")
        try SimulatedClient("bob", in: world).connect(to: world.shards[1])
        try SimulatedClient("cy", in: world).connect(to: world.shards[1])
        try world.run(for: 7_300)
        let diedAt = world.redisNow
        world.shards[1].die()
        let lease = world.configuration.lease
        try world.run(until: "both are offline") {
            watcher.status(of: "bob") == .offline && watcher.status(of: "cy") == .offline
        }
        expect(world.redisNow - diedAt <= lease.duration + 2 * lease.sweep + 100)
        let lastSeen = try #require(watcher.presences[UserID("bob")!]?.lastSeen)
        expect(lastSeen <= diedAt && lastSeen >= diedAt - lease.renewal - 10)
        expect(watcher.shown("bob"), equals: [.online, .offline])
    }

    @Test func `a killed server's users with damaged records do not keep others from being ended`() throws {
        let world = try World(shards: 2)
        let names = (0..<120).map { "u\($0)" }
        for name in names { try SimulatedClient(name, in: world).connect(to: world.shards[1]) }
        let damaged = ["u3", "u40", "u77"]
        let partitions = Partitions(count: world.configuration.partitions)
        for name in damaged {
            let user = UserID(name)!
            _ = world.redis.command(["DEL", partitions.keys(of: user).user(user)])
            _ = world.redis.command(["SET", partitions.keys(of: user).user(user), "x"])
        }
        world.shards[1].die()
        try world.run(for: 30_000)
        for name in names {
            let user = UserID(name)!
            let sessions = world.redis.command(["EXISTS", partitions.keys(of: user).sessions(user)])
            expect(sessions, equals: .success(.integer(damaged.contains(name) ? 1 : 0)), "\(name)")
        }
    }

    @Test func `a user who moves before a killed server's lease is over is never shown offline`() throws {
        let world = try World(shards: 2)
        let watcher = try SimulatedClient("ana", in: world).connect(to: world.shards[0]).watch("bob")
        let bob = try SimulatedClient("bob", in: world).connect(to: world.shards[1])
        try world.run(for: 5_000)
        world.shards[1].die()
        try world.run(for: 6_000)
        try bob.connect(to: world.shards[0])
        try world.run(for: 60_000)
        expect(watcher.shown("bob"), equals: [.online])
    }

    @Test func `a server that paused past its lease is fenced and recovers`() throws {
        let world = try World(shards: 2)
        let watcher = try SimulatedClient("ana", in: world).connect(to: world.shards[0]).watch("bob")
        let bob = try SimulatedClient("bob", in: world).connect(to: world.shards[1])
        try world.run(for: 5_000)
        world.shards[1].stop()
        try world.run(for: 30_000)
        expect(watcher.status(of: "bob"), equals: .offline)
        world.shards[1].wakeUp()
        try world.run(for: 5_000)
        expect(bob.isConnected)
        expect(watcher.status(of: "bob"), equals: .online)
        expect(world.shards[1].logic.link.isLive)
    }

    @Test func `a sweep that is late itself reaps no incarnation`() throws {
        let world = try World(shards: 2)
        let watcher = try SimulatedClient("ana", in: world).connect(to: world.shards[0]).watch("bob")
        try SimulatedClient("bob", in: world).connect(to: world.shards[1])
        try world.run(for: 5_000)
        world.redisEpoch += 3_600_000
        try world.run(for: 60_000)
        expect(watcher.shown("bob"), equals: [.online])
        world.redisEpoch -= 7_200_000
        try world.run(for: 60_000)
        expect(watcher.shown("bob"), equals: [.online])
    }

    @Test func `a lost connection to Redis is reported as stale, and no status flaps`() throws {
        let world = try World(shards: 2)
        let watcher = try SimulatedClient("ana", in: world).connect(to: world.shards[0]).watch("bob")
        let bob = try SimulatedClient("bob", in: world).connect(to: world.shards[1])
        try world.run(for: 1_000)
        world.redis.isGone = true
        world.shards.forEach { $0.cutAll() }
        try world.run(for: 100)
        expect(watcher.isStale)
        bob.send(.updateProfile(.init(displayName: .set("Bob"))))
        try world.run(for: 100)
        expect(bob.received.contains { if case .error(let e) = $0 { e.code == .unavailable } else { false } })
        try world.run(for: 30_000)
        world.redis.isGone = false
        try world.run(until: "it is live again") { !watcher.isStale }
        try world.run(for: 30_000)
        expect(watcher.shown("bob"), equals: [.online])
    }

    @Test func `users who move to another shard while Redis is away are not shown offline, in either order`()
        throws
    {
        let world = try World(shards: 3)
        let watcher = try SimulatedClient("ana", in: world).connect(to: world.shards[2]).watch("bob", "cy")
        let bob = try SimulatedClient("bob", in: world).connect(to: world.shards[0])
        let cy = try SimulatedClient("cy", in: world).connect(to: world.shards[0])
        try world.run(for: 1_000)
        world.redis.isGone = true
        world.shards.forEach { $0.cutAll() }
        bob.lost()
        cy.lost()
        try world.run(for: 1_000)
        try SimulatedClient("bob", in: world).connect(to: world.shards[1])
        // The shard that has bob now is stopped, so that it is the last to write its sessions.
        try world.run(for: 60_000)
        world.shards[1].stop()
        world.redis.isGone = false
        try world.run(until: "it is live again") { !watcher.isStale }
        try world.run(for: 1_000)
        world.shards[1].wakeUp()
        let back = world.now
        try world.run(until: "who did not come back is gone") { watcher.status(of: "cy") == .offline }
        expect(world.now - back <= world.configuration.linger)
        try world.run(for: 30_000)
        expect(watcher.shown("bob"), equals: [.online])
        expect(watcher.shown("cy"), equals: [.online, .offline])
        expect(world.shards.map(\.logic.sessions.lingering), equals: [0, 0, 0])
    }

    @Test func `a silent Redis is detected within 5 seconds`() throws {
        let world = try World(shards: 1)
        let watcher = try SimulatedClient("ana", in: world).connect(to: world.shards[0]).watch("bob")
        try world.run(for: 1_234)
        world.redis.isSilent = true
        let since = world.now
        try world.run(until: "it is said") { watcher.isStale }
        expect(world.now - since <= 5_000)
        world.redis.isSilent = false
        try world.run(until: "it is live again") { !watcher.isStale }
    }

    @Test func `after Redis lost everything, sessions and statuses are restored with higher versions`()
        throws
    {
        let world = try World(shards: 2)
        let watcher = try SimulatedClient("ana", in: world).connect(to: world.shards[0]).watch("bob", "cy", "dee")
        let bob = try SimulatedClient("bob", in: world).connect(to: world.shards[1])
        let cy = try SimulatedClient("cy", in: world).connect(to: world.shards[1])
        bob.send(.status(.init(status: .busy, text: .set("writing"))))
        cy.send(.updateProfile(.init(displayName: .set("Cy"))))
        try world.run(for: 1_000)
        cy.close(code: 1000)
        try world.run(for: 1_000)
        let before = try #require(watcher.presences[UserID("bob")!])
        expect(before.status, equals: .busy)
        world.shards.forEach { $0.cutAll() }
        _ = world.redis.command(["FLUSHALL"])
        try world.run(for: 5_000)
        let after = try #require(watcher.presences[UserID("bob")!])
        expect(after.status, equals: .busy)
        expect(after.text, equals: "writing")
        expect(after.version > before.version)
        // Registers of users without a connection are lost, and watchers are notified.
        expect(watcher.presences[UserID("cy")!], equals: .unknown)
        expect(watcher.profiles[UserID("cy")!], equals: ProfileRegister.none)
        expect(watcher.shown("bob").filter { $0 == .offline }.isEmpty)
    }

    @Test func `two devices of one user never make the status flicker`() throws {
        let world = try World(shards: 2)
        let watcher = try SimulatedClient("ana", in: world).connect(to: world.shards[0]).watch("bob")
        let phone = try SimulatedClient("bob", in: world).connect(to: world.shards[0], device: "p", kind: .phone)
        try world.run(for: 100)
        for round in 0..<4 {
            let web = try SimulatedClient("bob", in: world).connect(
                to: world.shards[round % 2], device: "w", kind: .web, activity: .idle)
            try world.run(for: 3_000)
            if round % 2 == 0 { web.close(code: 1000) } else { web.lost() }
            try world.run(for: 15_000)
        }
        expect(Set(watcher.shown("bob")), equals: [.online])
        expect(phone.isConnected)
    }

    @Test func `an invisible user is offline, with lastSeen fixed at its beginning`() throws {
        let world = try World(shards: 2)
        let watcher = try SimulatedClient("ana", in: world).connect(to: world.shards[0]).watch("bob")
        let bob = try SimulatedClient("bob", in: world).connect(to: world.shards[1], device: "a")
        try world.run(for: 5_000)
        bob.send(.status(.init(status: .invisible)))
        try world.run(for: 100)
        let hidden = try #require(watcher.presences[UserID("bob")!])
        expect(hidden.status, equals: .offline)
        expect(abs(hidden.lastSeen! - world.redisNow) < 150)
        let web = try SimulatedClient("bob", in: world).connect(to: world.shards[0], device: "b")
        try world.run(for: 10_000)
        web.close(code: 1000)
        bob.lost()
        try world.run(for: 30_000)
        expect(watcher.presences[UserID("bob")!], equals: hidden)
        try bob.connect(to: world.shards[0], device: "a", status: .init(status: .auto))
        try world.run(for: 100)
        expect(watcher.status(of: "bob"), equals: .online)
    }

    @Test func `a session in the background gets only the newest of each register when it returns`() throws {
        let world = try World(shards: 1)
        let watcher = try SimulatedClient("ana", in: world).connect(to: world.shards[0]).watch("bob")
        let bob = try SimulatedClient("bob", in: world).connect(to: world.shards[0])
        try world.run(for: 100)
        watcher.send(.activity(.background))
        try world.run(for: 100)
        let before = watcher.received.count
        for name in ["B", "Bo", "Bob"] {
            bob.send(.updateProfile(.init(displayName: .set(name))))
            bob.send(.status(.init(status: .busy, text: .set(name))))
            try world.run(for: 1_000)
        }
        expect(watcher.shown("bob", since: before).isEmpty)
        watcher.send(.activity(.active))
        try world.run(for: 100)
        expect(watcher.shown("bob", since: before), equals: [.busy])
        expect(watcher.presences[UserID("bob")!]?.text, equals: "Bob")
        guard case .profile(let profile) = watcher.profiles[UserID("bob")!] else {
            throw World.Impatience(what: "profile")
        }
        expect(profile.displayName, equals: "Bob")
    }

    @Test func `a slow reader gets only the newest values`() throws {
        let world = try World(shards: 1)
        let watcher = try SimulatedClient("ana", in: world).connect(to: world.shards[0]).watch("bob")
        let bob = try SimulatedClient("bob", in: world).connect(to: world.shards[0])
        try world.run(for: 100)
        watcher.isSlow = true
        let before = watcher.received.count
        for number in 0..<100 {
            bob.send(.status(.init(status: .busy, text: .set("\(number)"))))
            try world.run(for: 20)
        }
        expect(watcher.shown("bob", since: before).count, equals: 1)
        watcher.readsAgain()
        try world.run(for: 100)
        expect(watcher.shown("bob", since: before).count, equals: 2)
        expect(watcher.presences[UserID("bob")!]?.text, equals: "99")
    }

    @Test func `a client that reads nothing for 30 seconds is closed as too slow`() throws {
        let world = try World(shards: 1)
        let watcher = try SimulatedClient("ana", in: world).connect(to: world.shards[0]).watch("bob")
        watcher.isSlow = true
        try SimulatedClient("bob", in: world).connect(to: world.shards[0])
        try world.run(for: 29_000)
        expect(watcher.closeCode, equals: nil)
        try world.run(for: 2_000)
        expect(watcher.closeCode, equals: .tooSlow)
    }

    @Test func `events missed while slots moved are read again, and no client is told that it is stale`() throws {
        let world = try World(shards: 2)
        let watcher = try SimulatedClient("ana", in: world).connect(to: world.shards[0]).watch("bob", "cy")
        let bob = try SimulatedClient("bob", in: world).connect(to: world.shards[1])
        let older = try SimulatedClient("cy", in: world).connect(to: world.shards[0], device: "phone")
        try world.run(until: "all are there") {
            watcher.status(of: "bob") == .online && watcher.status(of: "cy") == .online
        }
        world.shards[0].subscription.missesEvents = true
        bob.send(.status(.init(status: .busy)))
        try SimulatedClient("cy", in: world).connect(to: world.shards[1], device: "phone")
        try world.run(for: 5_000)
        expect(watcher.status(of: "bob"), equals: .online)
        expect(older.isConnected)
        world.shards[0].subscription.missesEvents = false

        let partitions = world.shards[0].logic.partitions
        func move(_ user: String) {
            world.shards[0].input { $0.handle(.rerouted(partitions: [partitions.index(of: UserID(user)!)])) }
        }
        // Only the moved partition is read again; the others are not in doubt.
        move("nobody")
        try world.run(for: 1_000)
        expect(watcher.status(of: "bob"), equals: .online)
        // Both at once: a move during a read is read after it.
        move("bob")
        move("cy")
        try world.run(until: "it is known") { watcher.status(of: "bob") == .busy && !older.isConnected }
        expect(older.closeCode, equals: .replaced)
        expect(watcher.shown("cy"), equals: [.online])
        expect(!watcher.received.contains { if case .stale = $0 { true } else { false } })
        expect(world.shards[0].logic.link.isLive)
    }
}
