/// Adds and removes watches, which are kept in dense arrays on both sides.
extension Watchers {
    package func subscriptions(of connection: Connection) -> Int { lines[connection.index].subscriptions.count }

    /// The number of `topics` that the connection does not watch yet.
    package func unwatched(_ wanted: [Topic], by connection: Connection) -> Int {
        let isWatched = watchCheck(of: connection, for: wanted.count)
        return wanted.count {
            !isWatched($0) && !($0.limited.map(isWatched) ?? false) && !($0.hidden.map(isWatched) ?? false)
                && !($0.paused.map(isWatched) ?? false)
        }
    }

    /// Subscribes the connection to every change of these topics.
    package func subscribe(_ connection: Connection, to wanted: [Topic]) {
        let index = connection.index
        let isWatched = watchCheck(of: connection, for: wanted.count)
        // Earlier changes are in the snapshot.
        if wanted.contains(where: { !$0.changed.isEmpty }) { markWatchers() }
        // So are pending changes of topics that the client already watches and subscribes to again.
        if !lines[index].turn.isEmpty || !lines[index].kept.isEmpty {
            keepTurn(of: index)
            let answered = Set(wanted.map(\.index))
            lines[index].kept.removeAll { answered.contains($0.topic) }
        }
        for topic in wanted { topic.log?.forget(UInt32(index)) }
        lines[index].subscriptions.reserveCapacity(lines[index].subscriptions.count + wanted.count)
        for topic in wanted where !isWatched(topic) {
            append(topic, to: index)
            endPause(of: topic, in: index)
        }
    }

    /// Adds both sides of a new watch.
    func append(_ topic: Topic, to index: Int) {
        let place = UInt32(topic.watchers.count)
        let position = UInt32(lines[index].subscriptions.count)
        topic.watchers.appendSparingly(.init(connection: UInt32(index), position: position))
        lines[index].subscriptions.append(.init(topic: topic.index, place: place))
        subscriptionCount += 1
    }

    /// Returns a function that checks whether the connection watches a topic, chosen for this number of calls.
    private func watchCheck(of connection: Connection, for questions: Int) -> (Topic) -> Bool {
        let watched = lines[connection.index].subscriptions
        if watched.isEmpty { return { _ in false } }
        // A set pays off for many topics only; for a few a search costs less.
        guard questions > 8 else { return { [self] in position(of: $0, in: connection.index) != nil } }
        let set = Set(watched.map(\.topic))
        return { set.contains($0.index) }
    }

    package func unsubscribe(_ connection: Connection, from topic: Topic) {
        guard let position = place(of: topic, in: connection) else { return }
        remove(position, of: connection.index)
    }

    /// Unsubscribes the connection from many topics, in one pass over its subscriptions.
    package func unsubscribe(_ connection: Connection, from unwanted: [Topic]) {
        guard unwanted.count > 8 else { return unwanted.forEach { unsubscribe(connection, from: $0) } }
        let index = connection.index
        let parts = Set(
            unwanted.flatMap { [$0.index, $0.limited?.index, $0.hidden?.index, $0.paused?.index].compactMap { $0 } })
        keepTurn(of: index)
        lines[index].kept.removeAll { parts.contains($0.topic) }
        let kept = lines[index].kept
        lines[index].kept = []
        // From the end: the entry that moves into a free place has been processed already.
        for position in lines[index].subscriptions.indices.reversed()
        where parts.contains(lines[index].subscriptions[position].topic) {
            remove(position, of: index)
        }
        lines[index].kept = kept
    }

    func position(of topic: Topic, in index: Int) -> Int? {
        // Searches the shorter side.
        if topic.watchers.count < lines[index].subscriptions.count {
            return topic.watchers.first { $0.connection == index }.map { Int($0.position) }
        }
        return lines[index].subscriptions.firstIndex { $0.topic == topic.index }
    }

    /// Both sides are dense arrays: the last entry moves into the gap, and its counterpart gets the new index.
    func remove(_ position: Int, of index: Int) {
        let removed = lines[index].subscriptions[position]
        let topic = topics[Int(removed.topic)]!

        let lastWatch = topic.watchers.removeLast()
        if Int(removed.place) < topic.watchers.count {
            topic.watchers[Int(removed.place)] = lastWatch
            lines[Int(lastWatch.connection)].subscriptions[Int(lastWatch.position)].place = removed.place
        }
        let moved = lines[index].subscriptions.removeLast()
        if position < lines[index].subscriptions.count {
            lines[index].subscriptions[position] = moved
            topics[Int(moved.topic)]!.watchers[Int(moved.place)].position = UInt32(position)
        }
        // Pending changes of this topic are dropped.
        keepTurn(of: index)
        if !lines[index].kept.isEmpty { lines[index].kept.removeAll { $0.topic == removed.topic } }
        topic.log?.forget(UInt32(index))
        subscriptionCount -= 1
        discardIfUnused(topic)
    }
}
