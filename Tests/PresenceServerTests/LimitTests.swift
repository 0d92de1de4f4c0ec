import Expectations
import Glibc
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator
@testable import WebSockets

/// Floods: the client that causes one is limited, and all others are unaffected.
@Suite struct LimitTests {
    private func refusals(_ client: SimulatedClient, _ code: ErrorCode = .rateLimited) -> [ServerMessage.ErrorMessage] {
        client.received.compactMap { if case .error(let error) = $0, error.code == code { error } else { nil } }
    }

    private func answers(_ client: SimulatedClient) -> Int {
        client.received.count { if case .users = $0 { true } else { false } }
    }

    private func name(_ user: String, seenBy client: SimulatedClient) -> String? {
        if case .profile(let profile) = client.profiles[UserID(user)!] { profile.displayName } else { nil }
    }

    /// Whether the last message received was `connected`.
    private func isWelcome(_ client: SimulatedClient) -> Bool {
        if case .connected? = client.received.last { true } else { false }
    }

    private func profile(_ name: String) -> ClientMessage.Body { .updateProfile(.init(displayName: .set(name))) }

    /// A peer address as the kernel reports it.
    private func peer(_ host: String) throws -> PeerAddress {
        var storage = sockaddr_storage()
        var four = sockaddr_in()
        var six = sockaddr_in6()
        if inet_pton(AF_INET, host, &four.sin_addr) == 1 {
            four.sin_family = sa_family_t(AF_INET)
            withUnsafeMutableBytes(of: &storage) { $0.storeBytes(of: four, as: sockaddr_in.self) }
        } else {
            try #require(inet_pton(AF_INET6, host, &six.sin6_addr) == 1)
            six.sin6_family = sa_family_t(AF_INET6)
            withUnsafeMutableBytes(of: &storage) { $0.storeBytes(of: six, as: sockaddr_in6.self) }
        }
        return PeerAddress(storage)
    }

    // MARK: Requests

    @Test func `a connection above its rate gets retryAfter, its requests change nothing, and others are not delayed`()
        throws
    {
        let world = try World(shards: 1) {
            $0.limits.requestBurst = 5
            $0.limits.requestsPerSecond = 1
        }
        let watcher = try SimulatedClient("ana", in: world).connect(to: world.shards[0]).watch("bob")
        let bob = try SimulatedClient("bob", in: world).connect(to: world.shards[0])
        // `connect` took one token.
        for number in 1...10 { bob.send(profile("Bob \(number)")) }
        watcher.send(.get(users: [UserID("bob")!]))
        try world.run(for: 50)
        expect(refusals(bob).count, equals: 6)
        expect(refusals(bob).allSatisfy { $0.id != nil && ($0.retryAfter ?? 0) > 0 })
        expect(answers(watcher), equals: 1)
        expect(name("bob", seenBy: watcher), equals: "Bob 4")
        expect(bob.isConnected)
        expect(world.shards[0].logic.metrics.limitsMet, equals: [.requests: 6])

        // The client repeats its request after the time given.
        try world.run(for: refusals(bob).last!.retryAfter!)
        bob.send(profile("Bob at last"))
        try world.run(until: "it is done") {
            name("bob", seenBy: watcher) == "Bob at last"
        }
        expect(refusals(bob).count == 6 && refusals(watcher).isEmpty)
    }

    @Test func `a client that ignores the limit is closed with 1008, and no other`() throws {
        let world = try World(shards: 1) {
            $0.limits.requestBurst = 5
            $0.limits.rateLimited = 20
        }
        let other = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
        let bob = try SimulatedClient("bob", in: world).connect(to: world.shards[0])
        for _ in 0..<30 { bob.send(.get(users: [])) }
        try world.run(for: 50)
        expect(bob.closeCode, equals: .policyViolation)
        expect(refusals(bob).count, equals: 20)
        expect(other.isConnected && refusals(other).isEmpty)
    }

    @Test func `a client that sometimes exceeds the limit is never closed for it`() throws {
        let world = try World(shards: 1) {
            $0.limits.requestBurst = 5
            $0.limits.rateLimited = 20
        }
        let bob = try SimulatedClient("bob", in: world).connect(to: world.shards[0])
        for _ in 0..<20 {
            for _ in 0..<20 { bob.send(.get(users: [])) }
            try world.run(for: 10_000)
        }
        expect(bob.isConnected)
        expect(refusals(bob).count > 250)
    }

    @Test func `malformed requests count like valid ones, and disconnecting costs nothing`() throws {
        let world = try World(shards: 1) {
            $0.limits.requestBurst = 2
            $0.limits.requestsPerSecond = 1
        }
        let bob = try SimulatedClient("bob", in: world).connect(to: world.shards[0])
        bob.send(.get(users: []))
        bob.sendText("nonsense")
        bob.send(.get(users: []))
        try world.run(for: 5)
        expect(refusals(bob).count == 2 && refusals(bob, .badRequest).isEmpty)
        bob.send(.disconnect)
        try world.run(for: 5)
        expect(bob.closeCode, equals: .normal)
    }

    @Test func `a request costs one more for each full ten of its ids`() throws {
        let world = try World(shards: 1) {
            $0.limits.requestBurst = 210
            $0.limits.requestsPerSecond = 10
        }
        let bob = try SimulatedClient("bob", in: world).connect(to: world.shards[0])
        let many = (0..<1_000).map { UserID("u\($0)")! }
        for _ in 0..<3 { bob.send(.get(users: many)) }
        // 1 + 101 + 101, and another 101 are more than 210.
        try world.run(until: "one is refused") { !refusals(bob).isEmpty }
        expect(refusals(bob).count == 1 && answers(bob) == 2)
        expect((9_200...9_500).contains(refusals(bob).first?.retryAfter ?? 0))
    }

    @Test func `a user has one bucket for all connections of a shard, and disconnecting does not refill it`() throws {
        let world = try World(shards: 2) {
            $0.limits.userRequestsPerSecond = 1
            $0.limits.userRequestBurst = 10
        }
        let ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
        let phone = try SimulatedClient("bob", in: world).connect(to: world.shards[0])
        let tablet = try SimulatedClient("bob", in: world).connect(to: world.shards[0])
        for _ in 0..<6 {
            phone.send(.get(users: []))
            tablet.send(.get(users: []))
            ana.send(.get(users: []))
        }
        try world.run(for: 10)
        expect(refusals(phone).count + refusals(tablet).count, equals: 4)
        expect(answers(ana) == 6 && refusals(ana).isEmpty)
        expect(world.shards[0].logic.metrics.limitsMet, equals: [.userRequests: 4])

        phone.close(code: 1000)
        tablet.close(code: 1000)
        try world.run(for: 10)
        phone.dial(world.shards[0])
        try world.run(for: 10)
        expect(refusals(phone).count + refusals(tablet).count, equals: 5)
        expect(phone.isConnected && !isWelcome(phone))
        // Another shard has another bucket.
        try SimulatedClient("bob", in: world).connect(to: world.shards[1])
        // Accepted a second later, on the same connection.
        try world.run(for: 1_000)
        phone.introduce()
        try world.run(until: "let in") {
            phone.received.suffix(1).contains { if case .connected = $0 { true } else { false } }
        }
    }

    @Test func `0 disables the limits`() throws {
        let world = try World(shards: 1) {
            $0.limits.requestsPerSecond = 0
            $0.limits.userRequestsPerSecond = 0
        }
        let bob = try SimulatedClient("bob", in: world).connect(to: world.shards[0])
        for _ in 0..<5_000 { bob.send(.get(users: [])) }
        try world.run(for: 10)
        expect(answers(bob), equals: 5_000)
    }

    @Test func `a client that reconnects and watches as many as allowed in batches is not limited`() throws {
        let world = try World(shards: 1)
        let bob = try SimulatedClient("bob", in: world).connect(to: world.shards[0])
        let size = 10
        for batch in 0..<20 {
            bob.send(.subscribe(.init(users: (0..<size).map { UserID("u\(batch * size + $0)")! })))
        }
        try world.run(for: 100)
        expect(refusals(bob).isEmpty)
        expect(world.shards[0].logic.watchers.subscriptionCount, equals: 20 * size)
        // The most subscriptions of a connection, in batches of the largest size.
        let limits = world.configuration.limits
        expect(20 * RequestPrice.ids(limits.subscriptions / 20) < limits.requestBurst)
    }

    // MARK: Connections

    @Test func `a user's connections are counted over all servers, and one too many is closed with a delay`() throws {
        let world = try World(shards: 2) { $0.limits.connectionsPerUser = 3 }
        let watcher = try SimulatedClient("ana", in: world).connect(to: world.shards[0]).watch("bob")
        let bobs = try (0..<3).map { try SimulatedClient("bob", in: world).connect(to: world.shards[$0 % 2]) }
        let late = try SimulatedClient("bob", in: world).connect(to: world.shards[1])
        expect(late.closeCode, equals: .tryAgainLater)
        expect(refusals(late, .tooMany).first?.retryAfter != nil)
        expect(world.shards[1].logic.metrics.limitsMet, equals: [.connectionsPerUser: 1])
        expect(world.shards[1].logic.sessions.count, equals: 1)
        // A device that reconnects takes its own place and needs no other.
        bobs[0].close(code: 1000)
        try world.run(for: 10)
        let phone = try SimulatedClient("bob", in: world).connect(to: world.shards[0], device: "phone")
        let again = try SimulatedClient("bob", in: world).connect(to: world.shards[1], device: "phone")
        try world.run(for: 10)
        expect(phone.closeCode == .replaced && again.isConnected)
        // A lingering session counts until it ends.
        bobs[1].lost()
        try late.connect(to: world.shards[1])
        expect(late.closeCode, equals: .tryAgainLater)
        try world.run(for: world.configuration.linger + 10)
        try late.connect(to: world.shards[1])
        expect(late.isConnected)
        expect(watcher.shown("bob"), equals: [.online])
    }

    @Test func `sessions that Redis has lost are restored, however many there are`() throws {
        let world = try World(shards: 1) { $0.limits.connectionsPerUser = 3 }
        let bobs = try (0..<3).map { _ in try SimulatedClient("bob", in: world).connect(to: world.shards[0]) }
        _ = world.redis.command(["FLUSHALL"])
        world.shards[0].cutAll()
        try world.run(until: "live again") { world.shards[0].logic.link.isLive }
        try world.run(for: 20_000)
        expect(bobs.allSatisfy { $0.isConnected })
    }

    @Test func `of sessions opened without Redis, those above the limit are closed when it returns`() throws {
        let world = try World(shards: 1) { $0.limits.connectionsPerUser = 2 }
        world.redis.isGone = true
        world.shards[0].cutAll()
        let bobs = try (0..<3).map { _ in try SimulatedClient("bob", in: world).connect(to: world.shards[0]) }
        expect(bobs.allSatisfy { $0.isConnected })
        world.redis.isGone = false
        try world.run(until: "live again") { world.shards[0].logic.link.isLive }
        try world.run(for: 100)
        expect(bobs.map { $0.closeCode }, equals: [nil, nil, .tryAgainLater])
    }

    @Test func `an address has a maximum of connections, over all shards that share the count`() throws {
        var limits = ServerConfiguration.Limits()
        limits.connectionsPerAddress = 2
        let addresses = AddressLimits(limits)
        let first = try peer("203.0.113.7")
        let other = try peer("203.0.113.8")
        expect(addresses.reserve(first) == .counted(first.block) && addresses.reserve(first) == .counted(first.block))
        // A few more, which cannot become WebSockets, and then none.
        for _ in 0..<AddressLimits.spare { expect(addresses.reserve(first), equals: .spare(first.block)) }
        expect(addresses.reserve(first), equals: .none)
        expect(addresses.reserve(other), equals: .counted(other.block))
        for _ in 0..<AddressLimits.spare { addresses.release(first.block) }
        expect(addresses.reserve(first), equals: .spare(first.block))
        addresses.release(first.block)
        addresses.release(first.block)
        expect(addresses.reserve(first), equals: .counted(first.block))
        for block in [first.block, first.block, other.block] { addresses.release(block) }
        expect(addresses.count, equals: 0)
    }

    @Test func `this machine's own addresses are counted only if configured`() throws {
        var limits = ServerConfiguration.Limits()
        limits.connectionsPerAddress = 1
        for host in ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"] {
            let address = try peer(host)
            limits.limitLoopback = false
            let free = AddressLimits(limits)
            for _ in 0..<3 { expect(free.reserve(address), equals: .uncounted) }
            limits.limitLoopback = true
            let all = AddressLimits(limits)
            expect(all.reserve(address) == .counted(address.block) && all.reserve(address) == .spare(address.block))
        }
    }

    @Test func `all addresses of an IPv6 network are one, and no two IPv4 addresses are`() throws {
        func block(_ host: String) throws -> AddressBlock { try peer(host).block }
        let one = try block("2001:db8:1:2::1")
        let same = try block("2001:db8:1:2:ffff::9")
        let next = try block("2001:db8:1:3::1")
        expect(one == same && one != next)
        let four = try block("192.0.2.1")
        let other = try block("192.0.2.2")
        let mapped = try block("::ffff:192.0.2.1")
        expect(four == mapped && four != other)
    }

    // MARK: Subscriptions

    @Test func `a subscription above the limit is rejected as a whole and counted`() throws {
        let world = try World(shards: 1) {
            $0.limits.subscriptions = 3
            $0.limits.subscribeBatch = 3
        }
        let bob = try SimulatedClient("bob", in: world).connect(to: world.shards[0]).watch("a", "b")
        bob.send(.subscribe(.init(users: [UserID("c")!, UserID("d")!])))
        try world.run(for: 10)
        expect(refusals(bob, .tooMany).count, equals: 1)
        expect(world.shards[0].logic.watchers.subscriptionCount, equals: 2)
        expect(world.shards[0].logic.metrics.limitsMet, equals: [.subscriptions: 1])
    }

    // MARK: Outboxes

    @Test
    func `when the outboxes are full, the connections with most pending bytes are closed, and others are unaffected`()
        throws
    {
        let world = try World(shards: 1) { $0.limits.outboxBytes = 200_000 }
        let shard = world.shards[0]
        let bob = try SimulatedClient("bob", in: world).connect(to: shard)
        let watcher = try SimulatedClient("ana", in: world).connect(to: shard).watch("bob")
        let many = (0..<100).map { UserID("a-user-with-a-name-of-some-length-\($0)")! }
        let slow = try (0..<4).map { try SimulatedClient("slow\($0)", in: world).connect(to: shard) }
        for client in slow {
            client.isSlow = true
            client.send(.get(users: []))
        }
        try world.run(for: 100)
        for (number, client) in slow.enumerated().reversed() {
            for _ in 0..<number * 5 { client.send(.get(users: many)) }
        }
        try world.run(for: 100)
        expect(slow.map { $0.closeCode }, equals: [nil, nil, nil, .tooSlow])
        expect(shard.logic.metrics.limitsMet, equals: [.outboxBytes: 1])
        expect((1...200_000).contains(shard.logic.outboxes.held))
        // Its session lingers like that of any lost connection.
        expect(shard.logic.sessions.lingering, equals: 1)

        let before = watcher.received.count
        bob.send(.status(.init(status: .busy)))
        try world.run(until: "seen") { watcher.status(of: "bob") == .busy }
        expect(watcher.received.count, equals: before + 1)
        // A client that reads again gets everything, and no bytes stay counted.
        slow.forEach { $0.readsAgain() }
        try world.run(for: 100)
        expect(slow[..<3].map { answers($0) }, equals: [1, 6, 11])
        expect(shard.logic.outboxes.held, equals: 0)
    }

    @Test func `of several shards the one above its share frees memory`() {
        let budget = OutboxBudget(1_000, shards: 2)
        let one = Outboxes(budget)
        let two = Outboxes(budget)
        one.change(by: 900)
        expect(one.updateSum(), equals: 0)
        two.change(by: 300)
        // The second shard is below its share, so it need not free anything.
        expect(two.updateSum(), equals: 0)
        expect(one.updateSum(), equals: 200)
        one.change(by: -200)
        expect(one.updateSum(), equals: 0)
    }
}
