import PresenceProtocol
import Redis

/// What the store says of a log.
package struct LogPage {
    /// The entries after the one that was asked for, in order and without holes: all, or the first of them.
    package let entries: [LogEntry]
    /// The log's last entry in the store, 0 for none, read after it was asked.
    package let end: Int64

    package init(entries: [LogEntry], end: Int64) {
        self.entries = entries
        self.end = end
    }
}

/// Appends to logs what the store has and they have not: after a hole, and after a break. Finds out when the store has lost
/// entries, and tells watchers to begin anew.
///
/// One read at a time is under way for a log. Who asks meanwhile hears after another one, because the answer on its way may
/// be older than what they know of. A read that fails is repeated, as long as there is the topic.
package final class LogReader {
    private final class Reading {
        let topic: Topic
        var waiting: [(RedisFailure?) -> Void]
        /// Came while a read was under way.
        var later: [(RedisFailure?) -> Void] = []

        init(_ topic: Topic, _ done: @escaping (RedisFailure?) -> Void) {
            self.topic = topic
            waiting = [done]
        }
    }

    /// By the index of their topic, which is held.
    private var underWay: [UInt32: Reading] = [:]
    /// To be read again, if they are still there.
    private var failed: [(index: UInt32, topic: ObjectIdentifier)] = []
    private var retryAt: Milliseconds = 0

    private let watchers: Watchers
    private let outboxes: Outboxes
    private let clock: ShardClock

    init(watchers: Watchers, outboxes: Outboxes, clock: ShardClock) {
        self.watchers = watchers
        self.outboxes = outboxes
        self.clock = clock
    }

    /// Reads what the log lacks, and appends it.
    ///
    /// - Parameter done: Called once: all that the store had when this was called is in the log, or why it could not be read.
    ///   It is then read again by itself.
    package func complete(_ topic: Topic, done: @escaping (RedisFailure?) -> Void = { _ in }) {
        precondition(topic.log != nil, "a topic of kind \(topic.kind) keeps no log")
        guard watchers.isHere(topic) else { return done(nil) }
        if let reading = underWay[topic.index] { return reading.later.append(done) }
        topic.holds += 1
        let reading = Reading(topic, done)
        underWay[topic.index] = reading
        read(reading)
    }

    /// Those that could not be read are read again.
    func tick() {
        guard !failed.isEmpty, clock.now >= retryAt else { return }
        let again = failed
        failed = []
        for (index, id) in again {
            if let topic = watchers.topic(index), ObjectIdentifier(topic) == id { complete(topic) }
        }
    }

    private func read(_ reading: Reading) {
        let topic = reading.topic
        guard let log = topic.log, let kind = watchers.kind(of: topic) else { return }
        // What was known when it was asked: an answer with less has lost it. What comes meanwhile is newer than the answer.
        let (held, wasPlaced, ahead) = (log.last, log.isPlaced, log.ahead)
        kind.readLog(topic, after: held) { [self] result in
            switch result {
            case .failure(let failure): finish(reading, failure)
            case .success(let page):
                if !wasPlaced {
                    _ = log.note(last: page.end)
                } else if page.end < held {
                    restart(topic, at: page.end)
                } else {
                    for entry in page.entries { watchers.append(entry.frame, sequence: entry.sequence, to: topic) }
                    restartThose(ahead, of: topic, beyond: page.end)
                }
                guard log.last >= page.end else {
                    // Nothing where there should be something: asked again a little later.
                    return log.last > held ? read(reading) : finish(reading, .overloaded)
                }
                guard !reading.later.isEmpty else { return finish(reading, nil) }
                let heard = reading.waiting
                (reading.waiting, reading.later) = (reading.later, [])
                read(reading)
                heard.forEach { $0(nil) }
            }
        }
    }

    private func finish(_ reading: Reading, _ failure: RedisFailure?) {
        underWay[reading.topic.index] = nil
        if failure != nil {
            if failed.isEmpty { retryAt = clock.now + CatchUps.pause }
            failed.append((reading.topic.index, ObjectIdentifier(reading.topic)))
        }
        watchers.release(reading.topic)
        for done in reading.waiting + reading.later { done(failure) }
    }

    // MARK: A store that lost entries

    /// The store has fewer entries than were delivered: every watcher is told to begin anew, and gets what comes after these.
    private func restart(_ topic: Topic, at end: Int64) {
        watchers.restart(topic, at: end)
        guard let frame = watchers.kind(of: topic)?.restartFrame(of: topic, at: end) else { return }
        for watch in topic.watchers { tell(watch.connection, frame) }
    }

    /// Those who came with a cursor beyond the end: nobody can have told them more than the store had since.
    private func restartThose(_ ahead: [UInt32: Int64], of topic: Topic, beyond end: Int64) {
        guard let log = topic.log else { return }
        let lost = ahead.filter { $0.value > end && log.ahead[$0.key] == $0.value }
        guard !lost.isEmpty, let frame = watchers.kind(of: topic)?.restartFrame(of: topic, at: log.last) else { return }
        // They get what comes after the present end, so this turn's entries are not for them.
        watchers.markWatchers()
        for connection in lost.keys {
            log.ahead[connection] = nil
            tell(connection, frame)
        }
    }

    /// Like a reply: also in the background, and before all events that follow.
    private func tell(_ index: UInt32, _ frame: [UInt8]) {
        guard let connection = watchers.connections[Int(index)], !connection.isClosed else { return }
        connection.outbox += frame
        outboxes.change(by: frame.count)
        watchers.markMail(connection)
    }
}
