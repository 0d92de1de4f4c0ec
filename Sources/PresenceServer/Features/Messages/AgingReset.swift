import PresenceCore
import PresenceProtocol
import Redis

/// On a server that keeps messages for any time: removes the record of what `AgingWalk` has found, because
/// conversations now get messages without being added to `aging`.
///
/// Failed commands are repeated. Otherwise, once the setting is on again, these conversations would not be searched
/// for, and messages in idle conversations would stay for ever.
final class AgingReset {
    private unowned let shard: ShardLogic
    private var retry: DeadlineKind!
    /// Partitions whose record must still be removed.
    private var left: Set<Int> = []
    private var isBusy = false

    private static let window = 8
    /// The pause before a failed command is repeated.
    private static let pause: Milliseconds = 60_000

    init(_ shard: ShardLogic, in registry: inout Registry) {
        self.shard = shard
        retry = registry.deadline { [unowned self] _ in forget() }
    }

    func start() {
        guard shard.place.number == 0 else { return }
        left = Set(0..<shard.partitions.count)
        forget()
    }

    private func forget() {
        guard shard.link.isLive, !isBusy else { return }
        isBusy = true
        shard.tasks.run { [self] in
            await shard.tasks.each(left.sorted(), window: Self.window) { [self] partition in
                let key = shard.partitions.keys(partition).agingFound
                if (try? await shard.command(["DEL", key])) != nil { left.remove(partition) }
            }
            isBusy = false
            // If the shard is not live, the next resynchronisation starts this again.
            guard !left.isEmpty, shard.link.isLive else { return }
            shard.deadlines.set(retry, .none, at: shard.clock.now + Self.pause)
        }
    }
}
