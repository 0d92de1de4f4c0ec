import PresenceProtocol
import Redis

/// One-time reads of a user without watchers. Long lists are not read; Redis is asked only whether the viewer is in them.
extension Policies {
    /// - Parameter done: Gets whether the viewer's view is now known, for as long as the user's topic is held. If not,
    ///   the lists have to be read.
    func glance(at user: UserID, _ head: PolicyHead, for viewer: UserID, done: @escaping (Bool) -> Void) {
        let keys = shard.partitions.keys(of: user)
        var answers: [RedisValue] = []
        for list in [keys.contacts(user), keys.blocks(user)] {
            shard.store.command(["SISMEMBER", list, viewer.string], lane: .commands) { [self] result in
                answers.append((try? result.get()) ?? .null)
                guard answers.count == 2 else { return }
                // A change arrived meanwhile, or Redis failed.
                guard self[user] == nil, answers.allSatisfy({ $0.int != nil }) else { return done(false) }
                let read = PolicyRead(
                    head: head, contacts: answers[0].int == 1 ? [viewer] : [],
                    blocks: answers[1].int == 1 ? [viewer] : [])
                let policy = Policy(of: user, isNew: false)
                policy.apply(read)
                glances[user, default: [:]][viewer] = policy
                done(true)
            }
        }
    }
}
