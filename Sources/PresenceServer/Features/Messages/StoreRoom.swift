import PresenceCore
import PresenceProtocol
import Redis

/// Keeps messages from taking the last of Redis' memory: where it has a limit (`maxmemory`), they have nine tenths of it, and
/// everything else goes on.
///
/// It asks how much is used with each MiB that was sent through this shard, and while there is no room, once a second. So what is
/// sent beyond that is some MiB for each shard. It asks nothing of a cluster, which answers for one node of many: there, as
/// everywhere, Redis refuses what it has no room for.
final class StoreRoom {
    private static let step = 1_048_576
    private static let pause: Milliseconds = 1_000

    private unowned let shard: ShardLogic
    private(set) var isFull = false
    private var sent = 0
    private var askedAt: Milliseconds?

    init(_ shard: ShardLogic) { self.shard = shard }

    /// Takes room for a message of so many bytes.
    func take(_ bytes: Int) throws(Refusal) {
        sent += bytes
        if sent >= Self.step || isFull && shard.clock.now >= (askedAt ?? 0) + Self.pause { ask() }
        // As Redis says it.
        guard !isFull else {
            throw Refusal(.server(code: "OOM", message: "OOM messages have no room left"), changes: false)
        }
    }

    private func ask() {
        (sent, askedAt) = (0, shard.clock.now)
        guard shard.store.hasOneClock else { return }
        shard.store.command(["INFO", "memory"], lane: .commands) { [self] result in
            guard case .success(let value) = result, let text = value.string else { return }
            isFull = Self.isFull(text)
        }
    }

    /// - Parameter info: What Redis says of its memory.
    static func isFull(_ info: String) -> Bool {
        var (used, most) = (0, 0)
        for line in info.split(whereSeparator: \.isNewline) {
            if line.hasPrefix("used_memory:") { used = Int(line.dropFirst(12)) ?? 0 }
            if line.hasPrefix("maxmemory:") { most = Int(line.dropFirst(10)) ?? 0 }
        }
        return most > 0 && used > most / 10 * 9
    }
}
