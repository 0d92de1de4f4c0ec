import PresenceCore
import PresenceProtocol
import Redis

/// All servers by their leases, what Redis uses, and the bounds that the numbers of `/metrics` are held against.
extension Console {
    func servers(_ call: HTTPCall) {
        call.ask(changes: false) {
            shard.store.command(["HGETALL", shard.partitions.space.leases], lane: .commands, reply: $0)
        } answered: { [self] leases in
            call.ask(changes: false) {
                shard.store.command(["INFO", "memory"], lane: .commands, reply: $0)
            } answered: { [self] memory in
                let words = (leases.array ?? []).compactMap(\.string)
                call.respond(.json(200, answer(HeldLeases(words, now: shard.clock.redisNow), memory.string ?? "")))
            }
        }
    }

    private func answer(_ leases: HeldLeases, _ memory: String) -> String {
        let servers = leases.leases.sorted { $0.key < $1.key }.map { name, lease in
            let state = lease.isReaping ? "reaping" : lease.until > leases.now ? "live" : "ranOut"
            return #"{"name":\#(StatusArguments.encoded(name)),"state":"\#(state)","renewedAt":\#(lease.renewed),"#
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
