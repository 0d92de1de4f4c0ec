import Foundation
internal import Redis

/// A cluster of two masters without replicas. It ends when this object is released.
///
/// @unchecked: the servers are started before anything else, and killed by one test only, while no other code uses
/// them.
package final class TwoMasters: @unchecked Sendable {
    package let nodes: [RedisServer]

    /// The port of each for TLS, if they have one.
    private let securePorts: [UInt16]

    /// - Parameter tls: The settings of a node for TLS on a port; without it no node uses TLS.
    package init(tls: ((_ port: UInt16) -> [String])? = nil) throws {
        let ports = try (0..<2).map { _ in try FreePort.find() }
        securePorts = tls == nil ? [] : ports
        nodes = try ports.map { port in
            try RedisServer(
                (tls?(port) ?? []) + [
                    "--cluster-enabled", "yes", "--cluster-port", "\(FreePort.find())", "--cluster-node-timeout",
                    "2000",
                    "--cluster-announce-ip", "127.0.0.1",
                ])
        }
        let admins = try nodes.map { try $0.admin() }
        try admins[0].command("CLUSTER", "ADDSLOTSRANGE", 0, 8191)
        try admins[1].command("CLUSTER", "ADDSLOTSRANGE", 8192, 16383)
        try admins[1].command("CLUSTER", "SET-CONFIG-EPOCH", 2)
        let bus = try admins[0].command("CONFIG", "GET", "cluster-port").array?.last?.int ?? 0
        let first = securePorts.first ?? nodes[0].port
        try admins[1].command("CLUSTER", "MEET", "127.0.0.1", .init(first), .integer(bus))
        for admin in admins {
            while try admin.command("CLUSTER", "INFO").string?.contains("cluster_state:ok") != true
                || admin.command("CLUSTER", "INFO").string?.contains("cluster_known_nodes:2") != true
            {
                usleep(10_000)
            }
        }
    }

    package var url: String {
        securePorts.first.map { "rediss+cluster://127.0.0.1:\($0)" } ?? "redis+cluster://127.0.0.1:\(nodes[0].port)"
    }

    package func owner(of key: String) throws -> RedisServer {
        try nodes.first { Self.serves(try $0.admin().command("CLUSTER", "SLOTS"), $0, HashSlot.of(key)) }!
    }

    private static func serves(_ slots: RedisValue, _ node: RedisServer, _ slot: Int) -> Bool {
        (slots.array ?? []).contains { range in
            guard let parts = range.array, let first = parts[0].int, let last = parts[1].int else { return false }
            return (first...last).contains(Int64(slot)) && parts[2].array?[1].int == Int64(node.port)
        }
    }

    private func ends(of key: String) throws -> (slot: RedisArgument, source: RedisServer, target: RedisServer) {
        let source = try owner(of: key)
        return (.init(HashSlot.of(key)), source, nodes.first { $0 !== source }!)
    }

    package func beginMove(slotOf key: String) throws {
        let (slot, source, target) = try ends(of: key)
        let ids = try [source, target].map { try $0.admin().command("CLUSTER", "MYID").string ?? "" }
        try target.admin().command("CLUSTER", "SETSLOT", slot, "IMPORTING", .string(ids[0]))
        try source.admin().command("CLUSTER", "SETSLOT", slot, "MIGRATING", .string(ids[1]))
    }

    /// Nodes that speak TLS among themselves also hand keys over so.
    private func migrationPort(of node: RedisServer) -> UInt16 {
        zip(nodes, securePorts).first { $0.0 === node }?.1 ?? node.port
    }

    package func moveKey(_ key: String) throws {
        let (_, source, target) = try ends(of: key)
        try source.admin().command("MIGRATE", "127.0.0.1", .init(migrationPort(of: target)), .string(key), 0, 5000)
    }

    package func endMove(slotOf key: String) throws {
        let (slot, source, target) = try ends(of: key)
        let from = try source.admin()
        while let keys = try from.command("CLUSTER", "GETKEYSINSLOT", slot, 1).array, let name = keys.first?.string {
            try from.command("MIGRATE", "127.0.0.1", .init(migrationPort(of: target)), .string(name), 0, 5000)
        }
        let id = try target.admin().command("CLUSTER", "MYID").string ?? ""
        try target.admin().command("CLUSTER", "SETSLOT", slot, "NODE", .string(id))
        try from.command("CLUSTER", "SETSLOT", slot, "NODE", .string(id))
    }

    /// Moves them to the other master, key by key.
    package func move(slotOf key: String) throws {
        try beginMove(slotOf: key)
        try endMove(slotOf: key)
    }
}
