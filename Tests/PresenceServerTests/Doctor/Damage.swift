import Foundation
import PresenceProtocol
import Redis
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// One kind of damage in Redis: how it is made, and which findings the doctor must report.
struct Damage: Sendable, CustomTestStringConvertible {
    let name: String
    let kinds: Set<DoctorFinding.Kind>
    let make: @Sendable (Installation) throws -> Void

    var testDescription: String { name }

    init(
        _ name: String, _ kinds: Set<DoctorFinding.Kind>, make: @escaping @Sendable (Installation) throws -> Void
    ) {
        self.name = name
        self.kinds = kinds
        self.make = make
    }
}

extension Damage {
    /// Each on a single server. Those that involve leases and partitions at once, or servers as such, also in a
    /// cluster, where the two are on different servers. (A cluster takes two seconds to start.)
    static func placed(_ damages: [Damage]) -> [(Damage, Installation.Form)] {
        let spanning: Set<DoctorFinding.Kind> = [
            .ghost, .deadIncarnation, .overdueLease, .missingWriter, .unreachableKey,
            .unheardPartition, .evictsKeys, .lostClaim, .unnamedClaim, .lostAddress, .contestedAddress,
            .lostIdentity, .contestedIdentity,
        ]
        return damages.map { ($0, .oneServer) }
            + damages.filter { !$0.kinds.isDisjoint(with: spanning) }.map { ($0, .cluster) }
    }

    /// Damages that `--repair` clears.
    static let repairable: [Damage] = [
        Damage("sessions of an incarnation without a lease", [.ghost, .deadIncarnation]) {
            try $0.join("dead")
            try $0.open("bob", "s1", on: "dead")
            try $0.leave("dead")
        },
        Damage("sessions of an incarnation without a lease, on no list", [.ghost]) {
            try $0.join("dead")
            try $0.open("bob", "s1", on: "dead")
            try $0.leave("dead")
            try $0.redis.command("DEL", .string($0.keys("bob").users(ofShard: "dead")))
        },
        Damage("an incarnation without a lease that may still write", [.deadIncarnation]) { try $0.join("dead") },
        Damage("an expired lease that no server reaps", [.overdueLease]) {
            try $0.join("dead")
            try $0.open("bob", "s1", on: "dead")
            try $0.lease("dead", renewed: -60_000, until: -50_000)
        },
        Damage("a reaper that died before it was done", [.overdueLease]) {
            try $0.join("dead")
            try $0.open("bob", "s1", on: "dead")
            try $0.set($0.partitions.space.leases, "dead", "reaping \(try $0.time(-60_000)) \(try $0.time(-40_000))")
        },
        Damage("an unreadable lease", [.malformedLease]) {
            try $0.join("dead")
            try $0.open("bob", "s1", on: "dead")
            try $0.set($0.partitions.space.leases, "dead", "soon")
        },
        Damage("an unreadable time of the last sweep", [.malformedSweep]) {
            try $0.set($0.partitions.space.leases, "swept", "yesterday")
        },
        Damage("a live incarnation that may not write", [.missingWriter]) {
            try $0.redis.command("SREM", .string($0.partitions.keys(2).shards), .string($0.live))
        },
        Damage("an unreadable session", [.malformedSession]) {
            try $0.open("bob", "s1", on: $0.live)
            try $0.set($0.sessions("bob"), "s2", "living - phone")
        },
        Damage("an empty session", [.malformedSession]) {
            try $0.open("bob", "s1", on: $0.live)
            try $0.set($0.sessions("bob"), "s2", "")
        },
        Damage("a session on no list", [.unlistedSession]) {
            try $0.open("bob", "s1", on: $0.live)
            try $0.redis.command("DEL", .string($0.keys("bob").users(ofShard: $0.live)))
        },
        Damage("a list with a user who has no session", [.listedWithoutSession]) {
            try $0.redis.command("SADD", .string($0.keys("bob").users(ofShard: $0.live)), "bob")
        },
        Damage("a user shown online without a session", [.wrongPresence, .listedWithoutSession]) {
            try $0.open("bob", "s1", on: $0.live)
            try $0.redis.command("DEL", .string($0.sessions("bob")))
        },
        Damage("a user shown away who is online", [.wrongPresence]) {
            try $0.open("bob", "s1", on: $0.live)
            try $0.set($0.user("bob"), "status", "away")
        },
        Damage("a session of an unknown user", [.wrongPresence]) {
            try $0.open("bob", "s1", on: $0.live)
            try $0.redis.command("DEL", .string($0.user("bob")))
        },
        Damage("an expired status that was not ended", [.overdueStatus]) {
            try $0.open("bob", "s1", on: $0.live)
            try $0.status("bob", "busy", clearAfter: "3600000")
            try $0.set($0.user("bob"), "clearAt", try $0.time(-60_000))
        },
        Damage("sessions in a place where no server looks", [.unreachableKey]) {
            try $0.set("{p009}:sessions:bob", "s1", "living - phone a 1")
        },
        Damage("sessions in another user's partition", [.unreachableKey]) {
            try $0.set($0.wrongKeys("bob").sessions(UserID("bob")!), "s1", "living - phone a 1")
        },
        Damage("unreadable typing", [.malformedTyping]) {
            let key = $0.keys("c1").typing(UserID("c1")!)
            try $0.set(key, "bob s1", "soon")
            try $0.redis.command("PEXPIRE", .string(key), 3_600_000)
        },
        Damage("typing that never expires", [.everlastingTyping]) {
            try $0.set($0.keys("c1").typing(UserID("c1")!), "bob s1", "1")
        },
        Damage("sessions that are a text", [.unusableKey]) {
            try $0.redis.command("SET", .string($0.sessions("bob")), "s1")
        },
        Damage("a list of an incarnation's users that is a text", [.unusableKey]) {
            try $0.redis.command("SET", .string($0.keys("bob").users(ofShard: $0.live)), "bob")
        },
        Damage("a floor that is a list", [.unusableKey]) {
            try $0.redis.command("DEL", .string($0.partitions.keys(1).floor))
            try $0.redis.command("RPUSH", .string($0.partitions.keys(1).floor), "1")
        },
        Damage("a user with unreadable visibility", [.malformedVisibility]) {
            try $0.set($0.user("bob"), "visibility", "1 n x")
        },
        Damage("a session that its server denies", [.ghostSession]) {
            try $0.open("bob", "denied", on: $0.live)
            try $0.deny("denied")
        },
        // Servers load scripts by themselves.
        Damage("scripts that Redis lost, which is no damage", []) { try $0.redis.everywhere("SCRIPT", "FLUSH") },
    ]

    /// Damages that the doctor only reports.
    static let beyondRepair: [Damage] = [
        Damage("servers none of which sweeps", [.nobodySweeps]) {
            try $0.set($0.partitions.space.leases, "swept", try $0.time(-60_000))
        },
        Damage("a version that is no number", [.malformedValue]) {
            try $0.open("bob", "s1", on: $0.live)
            try $0.set($0.user("bob"), "presenceVersion", "many")
        },
        Damage("a register that is no JSON", [.malformedValue]) {
            try $0.open("bob", "s1", on: $0.live)
            try $0.set($0.user("bob"), "presence", "\"status\":")
        },
        Damage("an empty register", [.malformedValue]) {
            try $0.open("bob", "s1", on: $0.live)
            try $0.set($0.user("bob"), "presence", "")
        },
        Damage("bytes that are no text", [.malformedValue]) {
            try $0.open("bob", "s1", on: $0.live)
            try $0.redis.command("HSET", .string($0.user("bob")), "profile", .bytes([0xFF]))
        },
        Damage("a floor that is no number", [.malformedValue]) {
            try $0.redis.command("SET", .string($0.partitions.keys(1).floor), "low")
        },
        Damage("blocks that are a text", [.wrongType]) {
            try $0.redis.command("SET", .string($0.keys("bob").blocks(UserID("bob")!)), "eve")
        },
        Damage("a conversation that is a list", [.wrongType]) {
            try $0.redis.command("RPUSH", .string($0.keys("c1").conversation(UserID("c1")!)), "bob")
        },
        Damage("a profile in another user's partition", [.unreachableRecord]) {
            try $0.set($0.wrongKeys("bob").user(UserID("bob")!), "displayName", "\"Bob\"")
        },
        Damage("a version far ahead", [.versionAhead]) {
            try $0.open("bob", "s1", on: $0.live)
            try $0.set($0.user("bob"), "presenceVersion", try $0.time(3_600_000))
        },
        Damage("a floor far ahead", [.versionAhead]) {
            try $0.redis.command("SET", .string($0.partitions.keys(1).floor), .string(try $0.time(3_600_000)))
        },
        Damage("a user last seen tomorrow", [.timeAhead]) {
            try $0.set($0.user("bob"), "lastSeen", try $0.time(86_400_000))
        },
        Damage("a partition without a subscriber", [.unheardPartition]) {
            try $0.listener.command("UNSUBSCRIBE", .string($0.partitions.eventChannels[3]))
        },
        Damage("a server that does not subscribe", [.unheardPartition]) {
            try $0.lease("deaf", renewed: 30_000, until: 600_000)
            try $0.join("deaf")
        },
        Damage("no layout", [.noFormat]) { try $0.redis.command("DEL", .string($0.partitions.space.format)) },
        Damage("a layout of the future", [.wrongFormat]) {
            try $0.redis.command("SET", .string($0.partitions.space.format), "1 4")
        },
        Damage("a Redis that evicts", [.evictsKeys]) {
            try $0.redis.everywhere("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
        },
        Damage("a Redis that is full", [.memoryFull]) { try $0.redis.everywhere("CONFIG", "SET", "maxmemory", "1") },
        Damage("a Redis that cannot write to the disk", [.cannotPersist]) { installation in
            // The snapshot's path is a directory.
            let place = (installation.servers[0].socketPath as NSString).deletingLastPathComponent
            try FileManager.default.createDirectory(atPath: place + "/dump.rdb/x", withIntermediateDirectories: true)
            let admin = try installation.servers[0].admin()
            try admin.command("BGSAVE")
            while try admin.command("INFO", "persistence").string?.contains("rdb_bgsave_in_progress:1") == true {}
        },
    ]
}
