/// Resting watches: the connection receives nothing of a topic for now, because its user may not see the topic. Once
/// the user may see it again, the connection continues where it stopped.
///
///     topic  ◀─whole─  paused     never changes
///
/// For the connection a resting watch remains a watch: it counts towards limits, and ends with the connection or an
/// unsubscribe. The topic exists as long as it has resting watches.
extension Watchers {
    /// Stops delivery of the topic to the connection. Pending changes remain pending.
    package func pause(_ connection: Connection, on topic: Topic) {
        let index = connection.index
        // This turn's changes are laid out while the watch still counts, so that its position is known.
        if !topic.changed.isEmpty { markWatchers() }
        keepTurn(of: index)
        guard let position = position(of: topic, in: index) else { return }
        let part = topic.paused ?? makePart(of: topic)
        topic.paused = part
        if let log = topic.log, let rest = part.log {
            let watcher = UInt32(index)
            rest.behind[watcher] = log.behind[watcher] ?? log.asked[watcher]?.after ?? log.ahead[watcher] ?? log.last
        }
        append(part, to: index)
        // Last, because the resting watch must exist before the old watch is removed.
        remove(position, of: index)
    }

    /// Resumes the connection's watch: it gets the newest state of each register, or every entry of a log since the
    /// pause.
    package func resume(_ connection: Connection, on topic: Topic) {
        let index = connection.index
        guard let part = topic.paused, position(of: part, in: index) != nil else { return }
        if let after = part.log?.behind[UInt32(index)] {
            subscribe(connection, to: topic, after: after)
        } else {
            subscribe(connection, to: [topic])
            let marks: Marks = topic.second.bytes.isEmpty ? .first : [.first, .second]
            guard !topic.first.bytes.isEmpty else { return }
            keepTurn(of: index)
            _ = lines[index].keep(topic.index, marks, &merger)
            markDirty(index)
        }
    }

    /// The connections with a resting watch of the topic.
    package func paused(on topic: Topic) -> [Connection] {
        topic.paused?.watchers.compactMap { connections[Int($0.connection)] } ?? []
    }

    /// Removes a resting watch that was replaced by a watch of the topic itself.
    func endPause(of topic: Topic, in index: Int) {
        if let part = topic.paused, let position = position(of: part, in: index) { remove(position, of: index) }
    }
}
