import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// All servers by their leases, the memory of Redis, and the limits for comparison with the numbers of `/metrics`.
extension Console {
    func servers() async throws(Refusal) -> HTTPResponse {
        let leases = try await shard.run("HGETALL", shard.partitions.space.leases).array?.compactMap(\.string) ?? []
        let memory = try await shard.run("INFO", "memory").string ?? ""
        return .json(200, encode(HeldLeases(leases, now: shard.clock.redisNow), memory))
    }

    private func encode(_ leases: HeldLeases, _ memory: String) -> String {
        let servers = leases.leases.sorted { $0.key < $1.key }.map { name, lease in
            let state = lease.isReaping ? "reaping" : lease.until > leases.now ? "live" : "ranOut"
            return #"{"name":\#(JSONWriter.encoded(name)),"state":"\#(state)","renewedAt":\#(lease.renewed),"#
                + #""until":\#(lease.until)}"#
        }
        let (used, most) = (Self.number("used_memory", in: memory), Self.number("maxmemory", in: memory))
        let limits = shard.configuration.limits
        return #"{"now":\#(leases.now),"servers":[\#(servers.joined(separator: ","))],"#
            + #""redis":{"usedBytes":\#(used),"mostBytes":\#(most)},"#
            + #""bounds":{"shards":\#(shard.place.of),"outboxBytes":\#(limits.outboxBytes)},"#
            + #""keepsHistory":\#(shard.configuration[History.enabled]),"#
            + #""hasAccounts":\#(shard.configuration[Accounts.enabled])}"#
    }

    /// A line of `INFO`: `NAME:NUMBER`.
    private static func number(_ name: String, in text: String) -> Int64 {
        let line = text.split(whereSeparator: \.isNewline).first { $0.hasPrefix(name + ":") }
        return line.flatMap { Int64($0.dropFirst(name.utf8.count + 1)) } ?? 0
    }
}
