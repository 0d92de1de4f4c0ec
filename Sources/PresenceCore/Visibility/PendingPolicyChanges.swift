import PresenceProtocol

/// Changes of policies that were sent to Redis and that this shard has not applied yet. A change's reply waits until
/// then.
final class PendingPolicyChanges {
    private var changes: [PendingPolicyChange] = []

    func begin(of user: UserID) -> PendingPolicyChange {
        let change = PendingPolicyChange(of: user)
        changes.append(change)
        return change
    }

    func drop(_ change: PendingPolicyChange) { changes.removeAll { $0 === change } }

    func complete(_ user: UserID, _ version: Int64) {
        guard !changes.isEmpty else { return }
        for pending in changes where pending.user == user { pending.seen = max(pending.seen, version) }
        let settled = changes.filter { $0.isSettled }
        guard !settled.isEmpty else { return }
        changes.removeAll { $0.isSettled }
        settled.forEach { $0.done?(true) }
    }

    /// The user's lists could not be read: whether a change of theirs is applied here is unknown.
    func lost(_ user: UserID, _ version: Int64) {
        for pending in changes where pending.user == user { pending.lost = max(pending.lost, version) }
        let waiting = changes.filter { $0.user == user && $0.done != nil }
        changes.removeAll { pending in waiting.contains { $0 === pending } }
        waiting.forEach { $0.done?(false) }
    }

    /// Redis is lost: whether a stored change is applied here is unknown.
    func lostAll() {
        let waiting = changes.filter { $0.done != nil }
        changes.removeAll { $0.done != nil }
        waiting.forEach { $0.done?(false) }
    }
}

/// A change whose reply waits for its event.
final class PendingPolicyChange {
    let user: UserID
    var seen: Int64 = 0
    /// The newest version whose event arrived but could not be applied.
    var lost: Int64 = 0
    private var version: Int64 = .max
    private(set) var done: ((Bool) -> Void)?

    init(of user: UserID) { self.user = user }

    var isSettled: Bool { done != nil && seen >= version }

    func wait(for version: Int64, done: @escaping (Bool) -> Void) {
        self.version = version
        self.done = done
    }
}
