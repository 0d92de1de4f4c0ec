import PresenceProtocol

/// Logs: topics of which every watcher gets every entry, in order.
///
/// An entry enters the turn like a change of a register, and the entries of a turn are written from the turn's bytes. A
/// connection that cannot be written, or shall not, keeps the topic's number as for a register, and the log notes where it
/// stands. Later it gets everything after that from the ring. What the ring no longer has, the feature reads (`CatchUps`).
extension Watchers {
    /// Appends an entry to a topic's log, for everyone who watches.
    ///
    /// - Parameters:
    ///   - frame: The whole WebSocket frame, as every client gets it.
    ///   - sequence: The entry's number: 1 for a log's first, and each one more than the one before.
    /// - Returns: What became of it. After a `hole` the feature reads the entries that are missing, and appends them.
    @discardableResult
    package func append(_ frame: [UInt8], sequence: Int64, to topic: Topic) -> TopicLog.Outcome {
        guard let log = topic.log else { preconditionFailure("a topic of kind \(topic.kind) keeps no log") }
        // What a topic that has gone is told, nobody hears, and nothing would let go of.
        guard isHere(topic) else { return .known }
        let outcome = log.judge(sequence)
        guard outcome == .appended else { return outcome }
        // More is another change, so that no write gets too long.
        if log.isFull(with: frame) { markWatchers() }
        log.append(frame, sequence)
        guard !topic.watchers.isEmpty else { return outcome }
        enter(topic)
        topic.changed = .first
        log.enterTurn()
        return outcome
    }

    /// The store's log of this topic ends with this entry; 0: it has none. Needed where its entries are not appended.
    @discardableResult
    package func noteEnd(_ sequence: Int64, of topic: Topic) -> TopicLog.Outcome {
        guard let log = topic.log else { preconditionFailure("a topic of kind \(topic.kind) keeps no log") }
        guard isHere(topic) else { return .known }
        return log.note(last: sequence)
    }

    /// Nobody gets what the ring has: the store has less by now. Who still needs entries of it gets what the feature reads.
    package func dropEntries(of topic: Topic) {
        guard isHere(topic), let log = topic.log else { return }
        // What entered this turn is not laid out after the log has changed.
        markWatchers()
        log.discard()
    }

    /// Whether somebody watches or holds it.
    func isHere(_ topic: Topic) -> Bool { topics[Int(topic.index)] === topic }

    /// From now on the connection gets the topic's entries, first of all those after this one.
    ///
    /// Without a number (`subscribe(_:to:)`) it gets those after `TopicLog.last`.
    package func subscribe(_ connection: Connection, to topic: Topic, after sequence: Int64) {
        subscribe(connection, to: [topic])
        guard let log = topic.log else { preconditionFailure("a topic of kind \(topic.kind) keeps no log") }
        let index = connection.index
        if sequence > log.last {
            // It was told more by another server than has come to this one.
            log.ahead[UInt32(index)] = sequence
            onAhead(topic)
        } else if sequence < log.last {
            fallBehind(index, topic, after: sequence)
        }
    }

    /// Whatever watchers still had to get of the log, they get what comes after this entry.
    func restart(_ topic: Topic, at end: Int64) {
        // What entered this turn is not laid out after the log has changed.
        markWatchers()
        for watch in topic.watchers {
            let index = Int(watch.connection)
            keepTurn(of: index)
            lines[index].kept.removeAll { $0.topic == topic.index }
        }
        // Whose watch rests begins anew when it goes on: no log has an entry before the first.
        for watch in topic.paused?.watchers ?? [] { topic.paused?.log?.behind[watch.connection] = -1 }
        topic.log?.restart(at: end)
    }

    /// The topic's entries after this one wait for the connection.
    func fallBehind(_ index: Int, _ topic: Topic, after sequence: Int64) {
        // What is kept leaves first: a later change of what is in the run must not overtake it.
        keepTurn(of: index)
        keep(topic.index, after: sequence, of: &lines[index], UInt32(index))
        markDirty(index)
    }

    /// One that is behind stands in `kept` already.
    func keep(_ topic: UInt32, after sequence: Int64, of line: inout Line, _ connection: UInt32) {
        guard let log = topics[Int(topic)]?.log, log.fallBehind(connection, after: sequence) else { return }
        _ = line.keep(topic, .first, &merger)
    }

    /// Marks those who watch a log, as `mark` does for registers. Those who stand somewhere else get nothing of this turn's.
    func mark(_ log: TopicLog, of topic: Topic, _ number: UInt32) {
        let after = turn.changes[Int(number)].after
        let hasCursors = log.hasCursors
        // Unsafe as in `mark`: the indices are ours, and neither array is changed by anything else meanwhile.
        lines.withUnsafeMutableBufferPointer { lines in
            topic.watchers.withUnsafeBufferPointer { watchers in
                for watch in watchers {
                    let index = Int(watch.connection)
                    guard lines[index].flags.contains(.open) else { continue }
                    var from = after
                    var keeps = lines[index].keeps
                    if hasCursors {
                        guard log.behind[watch.connection] == nil, log.asked[watch.connection] == nil else { continue }
                        if let ahead = log.ahead[watch.connection] {
                            if ahead <= log.last { log.ahead[watch.connection] = nil }
                            guard ahead < log.last else { continue }
                            (from, keeps) = (ahead, true)
                        }
                    }
                    if !keeps, lines[index].turn.isEmpty {
                        lines[index].turn = number..<number + 1
                    } else if !keeps, lines[index].turn.upperBound == number {
                        lines[index].turn = lines[index].turn.lowerBound..<number + 1
                    } else {
                        keepTurn(of: &lines[index], watch.connection)
                        keep(topic.index, after: from, of: &lines[index], watch.connection)
                    }
                    if lines[index].flags.isDisjoint(with: .dirty) {
                        lines[index].flags.insert(.dirty)
                        dirty.append(watch.connection)
                    }
                }
            }
        }
    }
}
