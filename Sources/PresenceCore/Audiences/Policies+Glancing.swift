import PresenceProtocol
import Redis

/// The entries of one viewer in a user's lists, asked together with the user's hash.
///
/// They are asked about every user alike, existing or not: neither the commands before an answer nor its time reveal
/// that a user hides from the viewer. A single look need not read the lists either.
struct Glance {
    let isContact: Bool
    let isBlocked: Bool

    /// A policy that is right about this viewer alone; `nil` if the head decides without the lists.
    func policy(of user: UserID, _ head: PolicyHead, for viewer: UserID) -> Policy? {
        let policy = Policy(of: user, isNew: false)
        policy.apply(head)
        guard !head.isDamaged, !policy.isComplete else { return nil }
        policy.apply(
            PolicyRead(head: head, contacts: isContact ? [viewer] : [], blocks: isBlocked ? [viewer] : []))
        return policy
    }
}

extension Policies {
    /// Asks for a viewer's entries in a user's lists, together with `query`, which reads the user's hash. `done` gets
    /// the reply to that, and the entries if Redis could answer.
    func glance(
        at user: UserID, for viewer: UserID, beside query: (@escaping StoreReply) -> Void,
        done: @escaping (Result<RedisValue, RedisFailure>, Glance?) -> Void
    ) {
        let keys = shard.partitions.keys(of: user)
        var read: Result<RedisValue, RedisFailure>?
        var entries: [Bool] = []
        var waiting = 3
        func arrived() {
            waiting -= 1
            guard waiting == 0, let read else { return }
            done(read, entries.count == 2 ? Glance(isContact: entries[0], isBlocked: entries[1]) : nil)
        }
        query {
            read = $0
            arrived()
        }
        for list in [keys.contacts(user), keys.blocks(user)] {
            shard.store.command(["SISMEMBER", list, viewer.string], lane: .commands) { result in
                if let entry = (try? result.get())?.int { entries.append(entry == 1) }
                arrived()
            }
        }
    }
}
