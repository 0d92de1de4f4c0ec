import PresenceProtocol

// The writes of a lane in the storage.
extension WriteLane {
    struct Write: Sendable {
        enum State: Sendable { case new, storing, stored, removing }

        let id: String
        let body: Body
        let owner: UserID?
        /// As in ``Part/changes``.
        let changes: Set<Int>
        /// The calls that end once it is stored.
        var calls: [CallID] = []
        var state = State.new
        /// Whether the server has a later change of one of its members.
        var isOutdated = false
        /// The accepted change that the app still sees as pending, because this write is still in the storage.
        var accepted: Body?
    }

    mutating func store(_ id: String, _ parts: [Part], _ owner: UserID?, for calls: [CallID]) {
        writes.append(
            Write(
                id: id, body: Self.merged(parts.map(\.body))!, owner: owner,
                changes: parts.reduce(into: []) { $0.formUnion($1.changes) }, calls: calls))
    }

    /// The operations since the last call.
    mutating func takeDirectives(at now: Moment) -> [Directive] {
        var directives: [Directive] = []
        for index in writes.indices where writes[index].state == .new {
            let write = writes[index]
            writes[index].state = .storing
            directives.append(
                .store(
                    QueuedWrite(
                        id: write.id, owner: write.owner?.string, lane: Body.kind, kind: Body.kind,
                        body: write.body.encoded(at: now), queuedAt: now.wall)))
        }
        let needed = needed
        var unneeded: [String] = []
        for index in writes.indices where writes[index].state != .removing && !needed.contains(writes[index].id) {
            writes[index].state = .removing
            unneeded.append(writes[index].id)
        }
        return unneeded.isEmpty ? directives : directives + [.removeWrites(unneeded)]
    }

    var needed: Set<String> { Set((next + sent.values).flatMap(\.ids)) }

    /// Whether the storage has a write from which the next process would make changes that are not wanted any more.
    var hasOldWrites: Bool {
        let needed = needed
        return writes.contains { $0.isOutdated || !needed.contains($0.id) }
    }

    /// Whether a write in the storage contains it, or, if `isPending`, soon will.
    func isStored(_ part: Part, isPending: Bool = false) -> Bool {
        let writes = writes.filter { $0.state == .stored || isPending && $0.state != .removing }
        let stored = writes.reduce(into: Set<Int>()) { if part.ids.contains($1.id) { $0.formUnion($1.changes) } }
        return part.changes.isSubset(of: stored)
    }

    /// Whether only writes with older changes contain it.
    func isOutdated(_ part: Part) -> Bool {
        let writes = writes.filter { part.ids.contains($0.id) }
        return writes.contains(where: \.isOutdated)
            && !writes.contains { !$0.isOutdated && part.changes.isSubset(of: $0.changes) }
    }

    /// A write was stored, or could not be stored. Returns the results of the calls that waited for it, or `nil` if it is
    /// of another lane.
    mutating func stored(
        _ id: String, _ error: PresenceError?
    ) -> [(call: CallID, result: Result<Reply, PresenceError>)]? {
        guard let index = writes.firstIndex(where: { $0.id == id }) else { return nil }
        let write = writes[index]
        writes[index].calls = []
        guard var error else {
            if write.state == .storing { writes[index].state = .stored }
            replaceOlder(by: write)
            return write.calls.map { ($0, .success(Body.queued)) }
        }
        writes.remove(at: index)
        error.outcomeUnknown = !withdraw(write)
        return write.calls.map { ($0, .failure(error)) }
    }

    /// The unsent parts that a stored write contains become one, which needs no older write.
    private mutating func replaceOlder(by write: Write) {
        guard let index = next.firstIndex(where: { $0.ids.contains(write.id) }),
            next[index].changes.isSubset(of: write.changes)
        else { return }
        let isContained = next[..<index].map { $0.owner == write.owner && $0.changes.isSubset(of: write.changes) }
        let older = zip(next, isContained).filter(\.1).map(\.0)
        var whole = older.first ?? next[index]
        for part in older.dropFirst() { whole.merge(part) }
        if !older.isEmpty { whole.merge(next[index]) }
        whole.ids = Array(next[index].ids.drop { $0 != write.id })
        whole.isUnstorable = false
        next[index] = whole
        next = zip(next, isContained).filter { !$0.1 }.map(\.0) + next[index...]
    }

    /// Parts do without a write that could not be stored. Those that no other write contains are dropped, if they must be
    /// stored; returns whether there were any.
    private mutating func withdraw(_ write: Write) -> Bool {
        for index in next.indices where next[index].ids.contains(write.id) {
            next[index].ids.removeAll { $0 == write.id }
            let others = writes.filter { $0.state != .removing && next[index].changes.isSubset(of: $0.changes) }
            next[index].ids += others.map(\.id).filter { !next[index].ids.contains($0) }
            // It was stored before, so its calls have ended: it is still sent.
            next[index].isUnstorable = !next[index].ids.isEmpty && !isStored(next[index], isPending: true)
        }
        let count = next.count
        if Body.waitsForStorage { next.removeAll { $0.ids.isEmpty } }
        return next.count < count
    }

    /// Writes were removed from the storage.
    mutating func removed(_ ids: [String]) { writes.removeAll { ids.contains($0.id) } }
}
