import PresenceProtocol

/// Logs: topics whose watchers get every entry, in order.
///
/// An entry enters the turn like a change of a register, and the turn's entries are written from the turn's bytes. A
/// connection that cannot or must not be written to now keeps the topic's number, as for a register, and the log notes
/// the connection's position. Later the connection gets all entries after that position from the ring. The feature
/// reads entries that are no longer in the ring (`CatchUps`).
extension Watchers {
    /// Appends an entry to a topic's log, for all watchers.
    ///
    /// - Parameters:
    ///   - frame: The whole WebSocket frame, the same for every client.
    ///   - sequence: The entry's number: 1 for a log's first, then one more each time.
    /// - Returns: The outcome. After a `hole` the feature reads the missing entries and appends them.
    @discardableResult
    package func append(_ frame: [UInt8], sequence: Int64, to topic: Topic) -> TopicLog.Outcome {
        guard let log = topic.log else { preconditionFailure("a topic of kind \(topic.kind) keeps no log") }
        // A discarded topic has no watchers, and its entries would never be freed.
        guard isHere(topic) else { return .known }
        let outcome = log.judge(sequence)
        guard outcome == .appended else { return outcome }
        // Further entries become another change, so that no write gets too long.
        if log.isFull(with: frame) { markWatchers() }
        log.append(frame, sequence)
        guard !topic.watchers.isEmpty else { return outcome }
        enter(topic)
        topic.changed = .first
        log.enterTurn()
        return outcome
    }

    /// Notes the end of the store's log of this topic; 0 if the store has no entries. Needed if the entries are not
    /// appended.
    @discardableResult
    package func recordEnd(_ sequence: Int64, of topic: Topic) -> TopicLog.Outcome {
        guard let log = topic.log else { preconditionFailure("a topic of kind \(topic.kind) keeps no log") }
        guard isHere(topic) else { return .known }
        return log.record(last: sequence)
    }

    /// Drops the ring's entries, because the store has fewer by now. Watchers that still need dropped entries get what the
    /// feature reads.
    package func dropEntries(of topic: Topic) {
        guard isHere(topic), let log = topic.log else { return }
        // This turn's entries are laid out before the log changes.
        markWatchers()
        log.discard()
    }

    /// Whether the topic still exists: it has watchers or is held.
    func isHere(_ topic: Topic) -> Bool { topics[Int(topic.index)] === topic }

    /// Subscribes the connection to the topic's entries after this one.
    ///
    /// Without a number (`subscribe(_:to:)`) the connection gets the entries after `TopicLog.last`.
    package func subscribe(_ connection: Connection, to topic: Topic, after sequence: Int64) {
        subscribe(connection, to: [topic])
        guard let log = topic.log else { preconditionFailure("a topic of kind \(topic.kind) keeps no log") }
        let index = connection.index
        if sequence > log.last {
            // Another server delivered entries that have not arrived on this one.
            log.ahead[UInt32(index)] = sequence
            onAhead(topic)
        } else if sequence < log.last {
            fallBehind(index, topic, after: sequence)
        }
    }

    /// Drops all pending entries of the log: watchers continue with those after this one.
    func restart(_ topic: Topic, at end: Int64) {
        // This turn's entries are laid out before the log changes.
        markWatchers()
        for watch in topic.watchers {
            let index = Int(watch.connection)
            keepTurn(of: index)
            lines[index].kept.removeAll { $0.topic == topic.index }
        }
        // A resting watch starts again when it is resumed: after -1 it needs entry 0, which no log has, so it gets a reset.
        for watch in topic.paused?.watchers ?? [] { topic.paused?.log?.behind[watch.connection] = -1 }
        topic.log?.restart(at: end)
    }

    /// Keeps the topic's entries after this one for the connection.
    func fallBehind(_ index: Int, _ topic: Topic, after sequence: Int64) {
        // The pending run is kept first, so that a later change cannot overtake it.
        keepTurn(of: index)
        keep(topic.index, after: sequence, of: &lines[index], UInt32(index))
        markDirty(index)
    }

    /// A connection that is already behind has the topic in `kept`.
    func keep(_ topic: UInt32, after sequence: Int64, of line: inout Line, _ connection: UInt32) {
        guard let log = topics[Int(topic)]?.log, log.fallBehind(connection, after: sequence) else { return }
        _ = line.keep(topic, .first, &merger)
    }

    /// Marks the watchers of a log, as `mark` does for registers. Watchers whose position is not the end of the log get
    /// none of this turn's entries.
    func mark(_ log: TopicLog, of topic: Topic, _ number: UInt32) {
        let after = turn.changes[Int(number)].after
        let hasCursors = log.hasCursors
        // Unsafe as in `mark`: the indices are valid by construction, and nothing else changes either array during the loop.
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
