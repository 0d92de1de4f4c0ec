import Expectations
import PresenceProtocol
import Redis
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// The answer to a backend if not all of its users could be notified.
@Suite struct NotificationRefusalTests {
    private let world: World
    private static let busy = RedisFailure.server(code: "BUSY", message: "BUSY for a moment")

    init() throws { world = try World(shards: 1) }

    /// The given number of users, each in a partition of their own.
    private func users(_ count: Int) -> [String] {
        var found: [Int: String] = [:]
        for name in (0..<1_000).map({ "user-\($0)" }) where found.count < count {
            found[world.shards[0].logic.partitions.index(of: UserID(name)!)] = name
        }
        return found.sorted { $0.key < $1.key }.map(\.value)
    }

    private func notify(_ users: [String], _ id: String) throws -> SimulatedCall {
        let body: [String: Any] = ["users": users, "id": id, "kind": "test", "title": "T"]
        let call = SimulatedCall("POST", "/v1/notifications", body, token: "!backend", to: world.shards[0])
        try world.run(until: "the backend is answered") { call.status != nil }
        return call
    }

    private func notified(_ users: [String]) throws -> Int {
        try users.count { name in
            let user = UserID(name)!
            let key = world.shards[0].logic.partitions.keys(of: user).notifications(user)
            return try world.redis.ask(["EXISTS", key]).get().int == 1
        }
    }

    /// Refuses the script with these numbers, counted from 1.
    private func refuse(_ numbers: [Int], _ failure: RedisFailure = busy) {
        var count = 0
        world.redis.refuse = { script, _ in
            guard script == .notify else { return nil }
            count += 1
            return numbers.contains(count) ? failure : nil
        }
    }

    @Test(arguments: [1, 2, 3])
    func `a request that some have got is not said to have changed nothing`(refused: Int) throws {
        let users = users(3)
        refuse([refused])
        let call = try notify(users, "n1")
        expect(call.status == 503 && call.json["retryAfter"] != nil)
        expect(call.json["outcomeUnknown"] as? Bool, equals: true, "\(call.json)")
        try expect(notified(users), equals: 2)
        world.redis.refuse = { _, _ in nil }
        try expect(notify(users, "n1").json["accepted"] as? Int, equals: 3)
        try expect(notified(users), equals: 3)
    }

    @Test func `a request that nobody has got has changed nothing`() throws {
        let users = users(3)
        refuse([1, 2, 3])
        let call = try notify(users, "n1")
        expect(call.status == 503 && call.json["outcomeUnknown"] == nil, "\(call.json)")
        try expect(notified(users), equals: 0)
    }

    @Test(arguments: [RedisFailure.timedOut(sent: true), .disconnected(sent: true)])
    func `an answer that is lost counts, whatever was refused before it`(failure: RedisFailure) throws {
        var count = 0
        world.redis.refuse = { script, _ in
            guard script == .notify else { return nil }
            count += 1
            return count == 3 ? failure : Self.busy
        }
        let call = try notify(users(3), "n1")
        expect(call.status == 503 && call.json["outcomeUnknown"] as? Bool == true, "\(call.json)")
    }

    /// When one user of a partition has a damaged record, the users of that partition are notified one by one.
    @Test(arguments: [[4], [2, 4]])
    func `of users who are told one by one the same holds`(refused: [Int]) throws {
        let partitions = world.shards[0].logic.partitions
        let near = (0..<1_000).map { "user-\($0)" }.filter { partitions.index(of: UserID($0)!) == 0 }.prefix(3)
        let damaged = UserID(near[1])!
        _ = try world.redis.ask(["SET", partitions.keys(of: damaged).notifications(damaged), "x"]).get()
        // First all three together, which fails at the second after the first has received it; then each alone.
        refuse(refused)
        let call = try notify(Array(near), "n1")
        expect(call.status == 503 && call.json["outcomeUnknown"] as? Bool == true, "\(call.json)")
        try expect(notified([near[0]]) == 1 && notified([near[2]]) == 0)
        world.redis.refuse = { _, _ in nil }
        try expect(notify(Array(near), "n1").json["accepted"] as? Int, equals: 2)
    }
}
