import PresenceCore
import PresenceProtocol
import Redis

/// Deletes guests that were not used for `accounts.guests.keepFor`. Each shard looks at all partitions in turn. A script gives
/// it some of a partition's unused guests, and gives them to no other server for a minute. If this server dies meanwhile,
/// another one gets them afterwards. The deletion checks again that the guest is unused, and is the same as any other.
final class GuestSweep {
    /// The pause between two partitions: with 128 partitions, each shard looks at each of them every two minutes.
    static let pause: Milliseconds = 1_000
    static let lease: Milliseconds = 60_000
    private static let most = 50

    private unowned let accounts: Accounts
    private var deadline: DeadlineKind!
    private var next: Int

    private var shard: ShardLogic { accounts.shard }

    init(_ accounts: Accounts, in registry: inout Registry) {
        self.accounts = accounts
        var random = accounts.shard.random
        next = Int.random(in: 0..<accounts.shard.configuration.partitions, using: &random)
        deadline = registry.deadline { [unowned self] _ in sweepNext() }
    }

    /// Starts the sweeps when the shard becomes live.
    func start() { shard.deadlines.setOnly(deadline, at: shard.clock.now + Self.pause) }

    private func sweepNext() {
        guard shard.link.isLive else { return }
        next = (next + 1) % shard.partitions.count
        let keys = shard.partitions.keys(next)
        // The shard is retained, because the deletions may take longer than the shard lives.
        shard.tasks.run { [self, accounts, shard] in
            await sweep(keys, accounts, shard)
            start()
        }
    }

    private func sweep(_ keys: PartitionKeys, _ accounts: Accounts, _ shard: ShardLogic) async {
        let keep = shard.configuration[Accounts.keepGuests]
        let call = ScriptCall(
            .unusedGuests, in: keys, ["guests": keys.guests],
            ["keep": keep, "lease": Self.lease, "most": Self.most])
        guard let reply = try? await shard.reply(to: call), reply.word == "OK" else { return }
        for user in reply.rest.compactMap({ $0.string.flatMap { UserID($0) } }) where shard.link.isLive {
            // A later sweep deletes the guests that fail here.
            _ = try? await accounts.remove(user, held: nil, guest: .unused(keep), by: nil)
        }
    }
}
