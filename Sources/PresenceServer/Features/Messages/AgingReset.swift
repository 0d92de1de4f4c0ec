import PresenceCore
import PresenceProtocol
import Redis

/// On a server that keeps messages for any time: forgets what `AgingWalk` has found, since from now on conversations get messages
/// that `aging` does not hear of.
///
/// What Redis refuses is repeated until it is done. Otherwise, once the setting is on again, nobody would look for those
/// conversations, and where nobody writes any more messages would stay for ever.
final class AgingReset {
    private unowned let shard: ShardLogic
    private var retry: DeadlineKind!
    /// Partitions that still have to forget.
    private var left: Set<Int> = []
    private var isBusy = false

    private static let window = 8
    /// Until what failed is tried again.
    private static let pause: Milliseconds = 60_000

    init(_ shard: ShardLogic, in registry: inout Registry) {
        self.shard = shard
        retry = registry.deadline { [unowned self] _ in forget() }
    }

    func resynchronise(_ step: ResynchronisationStep) {
        guard step == .live, shard.place.number == 0 else { return }
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
            // If it is not live, it begins again once it is.
            guard !left.isEmpty, shard.link.isLive else { return }
            shard.deadlines.set(retry, .none, at: shard.clock.now + Self.pause)
        }
    }
}
