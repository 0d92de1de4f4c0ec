import PresenceCore
import PresenceProtocol
import Redis

/// Prevents messages from taking the last of Redis' memory: where it has a limit (`maxmemory`), they are refused above
/// nine tenths of it, and everything else continues.
///
/// It asks for the memory in use with each MiB that was sent through this shard, and once a second while there is no
/// room. So the excess is some MiB for each shard. It does not ask a cluster, where one node would answer for many:
/// there Redis itself refuses messages for which it has no room, as it does everywhere.
final class StoreRoom {
    private static let step = 1_048_576
    private static let pause: Milliseconds = 1_000

    private unowned let shard: ShardLogic
    private(set) var isFull = false
    private var sent = 0
    private var askedAt: Milliseconds?

    init(_ shard: ShardLogic) { self.shard = shard }

    /// Admits a message of this many bytes, if there is room for it.
    func check(_ bytes: Int) throws(Refusal) {
        sent += bytes
        if sent >= Self.step || isFull && shard.clock.now >= (askedAt ?? 0) + Self.pause { queryMemory() }
        // The error is the same as for Redis' own refusal.
        guard !isFull else {
            throw Refusal(.server(code: "OOM", message: "OOM messages have no room left"), changes: false)
        }
    }

    private func queryMemory() {
        (sent, askedAt) = (0, shard.clock.now)
        guard shard.store.hasOneClock else { return }
        shard.store.command(["INFO", "memory"], lane: .commands) { [self] result in
            guard case .success(let value) = result, let text = value.string else { return }
            isFull = Self.isFull(text)
        }
    }

    /// - Parameter info: Redis' reply to `INFO memory`.
    static func isFull(_ info: String) -> Bool {
        var (used, most) = (0, 0)
        for line in info.split(whereSeparator: \.isNewline) {
            if line.hasPrefix("used_memory:") { used = Int(line.dropFirst(12)) ?? 0 }
            if line.hasPrefix("maxmemory:") { most = Int(line.dropFirst(10)) ?? 0 }
        }
        return most > 0 && used > most / 10 * 9
    }
}
