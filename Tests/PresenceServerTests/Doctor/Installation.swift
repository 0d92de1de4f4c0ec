import Foundation
import PresenceProtocol
import Redis
import TestSupport

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// The state of servers in Redis, made by hand with their own scripts, with one live incarnation subscribed to all
/// partitions.
final class Installation {
    /// The kind of Redis that stores the state.
    enum Form: CaseIterable {
        case oneServer, cluster
    }

    /// The server's features, and one with unique names.
    static let features = Features.all + [UniqueNames.self]

    /// The only server, or the masters of a cluster.
    let servers: [RedisServer]
    let url: String
    let redis: Redises
    let partitions = Partitions(count: 4)
    /// The live incarnation.
    let live = "living"
    /// Subscribed to every partition's events, as the living shard is.
    let listener: Redises
    let cluster: TwoMasters?

    init(_ form: Form = .oneServer) throws {
        cluster = form == .cluster ? try TwoMasters() : nil
        servers = try cluster?.nodes ?? [RedisServer()]
        url = cluster?.url ?? servers[0].url
        redis = try Redises(servers)
        listener = try Redises(servers)
        try redis.command("SET", .string(partitions.space.format), "\(Partitions.layout) 4")
        for script in Script.all(of: Self.features) { try redis.everywhere("SCRIPT", "LOAD", .string(script.source)) }
        for channel in partitions.eventChannels { try listener.command("SUBSCRIBE", .string(channel)) }
        // The times are in the future, so that tests need not renew them.
        try lease(live, renewed: 30_000, until: 600_000)
        try set(partitions.space.leases, "swept", try time(600_000))
        try join(live)
    }

    func doctor() throws -> Doctor {
        var configuration = ServerConfiguration()
        configuration.lease.renewal = 40
        configuration.lease.sweep = 20
        return try Doctor(url: url, configuration: configuration, features: Self.features)
    }

    /// Redis' time plus `ahead` ms.
    func time(_ ahead: Milliseconds) throws -> String {
        String(DoctorRedis.milliseconds(try redis.everywhere("TIME")) + ahead)
    }

    func set(_ key: String, _ field: String, _ value: String) throws {
        try redis.command("HSET", .string(key), .string(field), .string(value))
    }

    /// Stores a lease. Its renewal and its end are given in ms from now.
    func lease(_ incarnation: String, renewed: Milliseconds, until: Milliseconds) throws {
        try set(partitions.space.leases, incarnation, "\(try time(renewed)) \(try time(until))")
    }

    /// Renews the sweep's time, as running servers would, however long a test pauses. An unreadable value is left.
    func goOnSweeping() throws {
        let swept = try redis.command("HGET", .string(partitions.space.leases), "swept").string
        if swept.flatMap(Int64.init) != nil { try set(partitions.space.leases, "swept", try time(600_000)) }
    }

    func join(_ incarnation: String) throws {
        for partition in 0..<partitions.count {
            let keys = partitions.keys(partition)
            try run(.join, [keys.shards, keys.floor, keys.fenced(incarnation)], [incarnation, "0"])
        }
    }

    /// Leaves the state of an incarnation that was fenced and has no lease.
    func leave(_ incarnation: String) throws {
        for partition in 0..<partitions.count {
            try redis.command("SREM", .string(partitions.keys(partition).shards), .string(incarnation))
        }
    }

    @discardableResult
    func run(_ script: Script, _ keys: [String], _ arguments: [String]) throws -> RedisValue {
        try redis.of(keys[0]).run(
            script.redis, keys: keys.map(RedisArgument.string),
            arguments: [.string("0")] + arguments.map(RedisArgument.string))
    }

    /// A session on a phone.
    func open(_ user: String, _ session: String, on incarnation: String) throws {
        let id = UserID(user)!
        let keys = partitions.keys(of: id)
        try run(
            .open,
            [
                keys.shards, keys.floor, keys.user(id), keys.sessions(id), keys.users(ofShard: incarnation),
                keys.grants(id),
            ],
            [
                keys.events, incarnation, user, session, "-", "phone", "a", "0", "", "", "", "", "0", "0",
                "9000000000000", "",
            ])
    }

    /// Denies having a session, as a live shard does, on a thread of its own until Redis ends.
    func deny(_ session: String) throws {
        let isListening = DispatchSemaphore(value: 0)
        let (channels, live) = (partitions.eventChannels, live)
        for place in servers.map(\.unix) {
            let answering = Thread {
                guard let listener = try? BlockingRedis(place), let speaker = try? BlockingRedis(place) else { return }
                for channel in channels { _ = try? listener.command("SUBSCRIBE", .string(channel)) }
                isListening.signal()
                while let message = try? listener.receive().array?.last?.string {
                    let words = message.split(separator: " ").map(String.init)
                    guard words.first == "Q", words.count > 6, words[5] == live, words.contains(session) else {
                        continue
                    }
                    _ = try? speaker.command("PUBLISH", .string(words[4]), .string("\(words[1]) \(live) \(session)"))
                }
            }
            answering.start()
            isListening.wait()
        }
    }

    func status(_ user: String, _ chosen: String, clearAfter: String = "") throws {
        let id = UserID(user)!
        let keys = partitions.keys(of: id)
        try run(
            .status, [keys.shards, keys.floor, keys.user(id), keys.sessions(id)],
            [keys.events, live, user, chosen, "", clearAfter])
    }

    func field(_ user: String, _ field: String) throws -> String? {
        try redis.command("HGET", .string(keys(user).user(UserID(user)!)), .string(field)).string
    }

    func keys(_ user: String) -> PartitionKeys { partitions.keys(of: UserID(user)!) }
    func user(_ name: String) -> String { keys(name).user(UserID(name)!) }
    func sessions(_ name: String) -> String { keys(name).sessions(UserID(name)!) }

    /// The keys of a partition other than the user's, where no server looks for them.
    func wrongKeys(_ user: String) -> PartitionKeys {
        partitions.keys((partitions.index(of: UserID(user)!) + 1) % partitions.count)
    }
}

/// A connection to the only server, or to each master of a cluster.
struct Redises {
    private let connections: [BlockingRedis]

    init(_ servers: [RedisServer]) throws { connections = try servers.map { try $0.admin() } }

    /// The server with this key: each of two masters has half of the slots.
    func of(_ key: String) -> BlockingRedis {
        connections[HashSlot.of(key) * connections.count / HashSlot.count]
    }

    /// A command whose second word is a key.
    @discardableResult
    func command(_ words: RedisArgument...) throws -> RedisValue {
        guard case .string(let key) = words[1] else { preconditionFailure("\(words[1]) is no key") }
        return try of(key).command(words)
    }

    /// Sends a command to each server, and returns the last reply.
    @discardableResult
    func everywhere(_ words: RedisArgument...) throws -> RedisValue {
        try connections.map { try $0.command(words) }.last!
    }
}
