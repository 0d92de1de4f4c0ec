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
    func policy(of user: UserID, _ head: PolicyHead, for viewer: UserID) -> VisibilityPolicy? {
        let policy = VisibilityPolicy(of: user, isNew: false)
        policy.apply(head)
        guard !head.isDamaged, !policy.isComplete else { return nil }
        policy.apply(
            PolicyRead(head: head, contacts: isContact ? [viewer] : [], blocks: isBlocked ? [viewer] : []))
        return policy
    }

    /// Whether the viewer may see what the user shows to an audience.
    fileprivate func admits(to audience: Audience, of head: PolicyHead) -> Bool {
        !head.isDamaged && !isBlocked && (audience == .everyone || audience == .contacts && isContact)
    }
}

/// A user as one viewer finds them.
package struct FoundPerson {
    /// Whether the user lets the viewer find them.
    package let isAllowed: Bool
    /// The field of the user's hash that the finder asked for.
    package let field: RedisValue
    /// The profile as the viewer may see it: an object or `null`.
    package let profile: [UInt8]
}

extension VisibilityPolicies {
    /// Reads a user for a viewer who looks for them; a backend (`nil`) finds everyone.
    ///
    /// Unlike a look at a user by id, this never answers from memory: it takes the same commands for every user,
    /// existing or not, so its time does not reveal that a user hides.
    package func find(
        _ user: UserID, for viewer: UserID?, with field: String
    ) async throws(RedisFailure) -> FoundPerson {
        let key = shard.partitions.keys(of: user).user(user)
        let reply: (user: Result<RedisValue, RedisFailure>, glance: Glance?) = await shard.tasks.wait { [shard] done in
            glance(at: user, for: viewer ?? user) { read in
                shard.store.command(["HMGET", key] + PersonRead.fields + [field], lane: .commands, reply: read)
            } done: {
                done(($0, $1))
            }
        }
        let value = try reply.user.get()
        guard let glance = reply.glance else { throw .disconnected(sent: false) }
        let read = PersonRead(value, shard.bodyMark)
        let policy = read.policy ?? PolicyHead()
        if policy.isDamaged { shard.recordDamage("visibility", of: user) }
        let seesAll = viewer == nil || viewer == user
        let (_, version, body) = read.registers[1]
        let isShown = seesAll || glance.admits(to: policy.visibility.presence, of: policy)
        return FoundPerson(
            isAllowed: seesAll || glance.admits(to: policy.visibility.findable ?? .everyone, of: policy),
            field: value.array?.last ?? .null,
            profile: isShown && version > 0
                ? RegisterEncoder.object(version: version, body: body).bytes : ServerMessageWriter.noProfile)
    }

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
