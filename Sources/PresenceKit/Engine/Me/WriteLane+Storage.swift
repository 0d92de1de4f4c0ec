import PresenceProtocol

// The writes of a lane in the storage.
extension WriteLane {
    mutating func store(
        _ id: String, _ body: Body, _ owner: UserID?, for calls: [CallID], replacing ids: [String]
    ) {
        storing[id] = (calls, ids)
        operations.append(.store(id, body, owner))
    }

    mutating func remove(_ ids: [String]) {
        if !ids.isEmpty { operations.append(.remove(ids)) }
    }

    mutating func takeDirectives(at now: Moment) -> [Directive] {
        defer { operations = [] }
        return operations.map { operation in
            switch operation {
            case .store(let id, let body, let owner):
                .store(
                    QueuedWrite(
                        id: id, owner: owner?.string, lane: Body.kind, kind: Body.kind, body: body.encoded(at: now),
                        queuedAt: now.wall))
            case .remove(let ids): .removeWrites(ids)
            }
        }
    }

    /// A write was stored, or could not be stored. Returns the results of the calls that waited for it, or `nil` if it is
    /// of another lane.
    mutating func stored(
        _ id: String, _ error: PresenceError?
    ) -> [(call: CallID, result: Result<Reply, PresenceError>)]? {
        guard let (calls, replaced) = storing.removeValue(forKey: id) else { return nil }
        guard var error else {
            replace(Set(replaced), by: id)
            return calls.map { ($0, .success(Body.queued)) }
        }
        error.outcomeUnknown = !withdraw(id)
        return calls.map { ($0, .failure(error)) }
    }

    private mutating func replace(_ ids: Set<String>, by id: String) {
        // Changes in flight are no longer among the unsent ones, and have their own writes.
        guard let index = next.firstIndex(where: { $0.ids.last == id }) else { return remove(ids.sorted()) }
        let isContained = next[..<index].map { !$0.ids.isEmpty && ids.isSuperset(of: $0.ids) }
        let older = zip(next, isContained).filter(\.1).map(\.0)
        remove(older.flatMap(\.ids) + next[index].ids.dropLast())
        next[index].body = Self.merged(older.map(\.body) + [next[index].body])!
        next[index].ids = [id]
        next = zip(next, isContained).filter { !$0.1 }.map(\.0) + next[index...]
    }

    /// A change that cannot be stored is dropped if it must be stored and no other write contains it; returns whether.
    private mutating func withdraw(_ id: String) -> Bool {
        let isDropped = Body.waitsForStorage && next.contains { $0.ids == [id] }
        if isDropped { next.removeAll { $0.ids == [id] } }
        for index in next.indices { next[index].ids.removeAll { $0 == id } }
        return isDropped
    }

    /// Writes were removed from the storage.
    mutating func removed(_ ids: [String]) { removing.removeAll { !Set($0.ids).isDisjoint(with: ids) } }
}
