import PresenceProtocol

/// Changes of profiles that Redis has made, and whose events this shard has not processed yet. The replies wait until
/// it has, so that later reads on the same connection see the changes. For a user who is not watched here, nothing
/// waits.
final class AwaitedProfiles {
    private var waiting: [UserID: [(version: Int64, done: () -> Void)]] = [:]

    var isEmpty: Bool { waiting.isEmpty }

    func wait(for version: Int64, of user: UserID, done: @escaping () -> Void) {
        waiting[user, default: []].append((version, done))
    }

    /// An event was processed.
    func complete(_ user: UserID, _ version: Int64) {
        guard let all = waiting[user] else { return }
        let later = all.filter { $0.version > version }
        waiting[user] = later.isEmpty ? nil : later
        for each in all where each.version <= version { each.done() }
    }

    /// Events may have been missed: the reload that follows brings the changes.
    func lost() {
        let all = waiting.values.joined()
        waiting = [:]
        all.forEach { $0.done() }
    }
}

extension ShardLogic {
    /// Calls `done` once this shard shows a version of a profile that a script has made.
    package func whenFollowed(profile version: Int64, of user: UserID, done: @escaping () -> Void) {
        guard link.isLive, let topic = watchers.person(user), policies.newest(.profile, of: topic) < version else {
            return done()
        }
        awaitedProfiles.wait(for: version, of: user, done: done)
    }
}
