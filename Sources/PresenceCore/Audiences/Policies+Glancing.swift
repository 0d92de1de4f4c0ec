import PresenceProtocol
import Redis

/// A look at a user whom nobody watches: of long lists only that is asked which decides for the one who looks.
extension Policies {
    /// - Parameter done: Gets whether it is known now what the viewer may see (`view`), for as long as somebody holds the user's
    ///   topic. If not, the lists have to be read.
    func glance(at user: UserID, _ head: PolicyHead, for viewer: UserID, done: @escaping (Bool) -> Void) {
        let keys = shard.partitions.keys(of: user)
        var answers: [RedisValue] = []
        for list in [keys.contacts(user), keys.blocks(user)] {
            shard.store.command(["SISMEMBER", list, viewer.string], lane: .commands) { [self] result in
                answers.append((try? result.get()) ?? .null)
                guard answers.count == 2 else { return }
                // A change has come meanwhile, or Redis did not say.
                guard self[user] == nil, answers.allSatisfy({ $0.int != nil }) else { return done(false) }
                let read = PolicyRead(
                    head: head, contacts: answers[0].int == 1 ? [viewer] : [],
                    blocks: answers[1].int == 1 ? [viewer] : [])
                let policy = Policy(of: user, isNew: false)
                policy.take(read)
                glances[user, default: [:]][viewer] = policy
                done(true)
            }
        }
    }
}
