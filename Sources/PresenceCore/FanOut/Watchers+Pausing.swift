/// Watches that rest: a connection hears nothing of a topic for now, because its user may not, and goes on where it was once
/// they may again.
///
///     topic  ◀─whole─  paused     never changes
///
/// For the connection it stays a watch like any other: it counts, it ends with the connection or when that unsubscribes, and
/// the topic stays as long as somebody's watch of it rests.
extension Watchers {
    /// The connection hears no more of the topic. What waited for it waits on.
    package func pause(_ connection: Connection, on topic: Topic) {
        let index = connection.index
        // What entered this turn is laid out while the watch still counts, so that it is known where it stands.
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
        // Only then may its place in the topic go.
        remove(position, of: index)
    }

    /// The connection's watch goes on: with the newest of each register, and with every entry of a log since it was paused.
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

    /// The connections whose watch of the topic rests.
    package func paused(on topic: Topic) -> [Connection] {
        topic.paused?.watchers.compactMap { connections[Int($0.connection)] } ?? []
    }

    /// A watch that rested has become one of the topic itself.
    func endPause(of topic: Topic, in index: Int) {
        if let part = topic.paused, let position = position(of: part, in: index) { remove(position, of: index) }
    }
}
