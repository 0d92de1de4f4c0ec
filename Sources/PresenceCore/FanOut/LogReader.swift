import PresenceProtocol
import Redis

/// A part of a log, as read from the store.
package struct LogPage {
    /// The entries after the requested one, in order and without gaps: all, or the first of them.
    package let entries: [LogEntry]
    /// The log's last entry in the store, 0 for none, read after the request.
    package let end: Int64

    package init(entries: [LogEntry], end: Int64) {
        self.entries = entries
        self.end = end
    }
}

/// Fills gaps in logs from the store, also after a break. If the store has lost entries, it instructs watchers to start
/// again.
///
/// Each log has at most one read in progress. Callers that arrive meanwhile wait for another read, since the pending
/// reply may be older than the entries that they know of. A read that fails is repeated as long as the topic exists.
package final class LogReader {
    private final class Reading {
        let topic: Topic
        var waiting: [(RedisFailure?) -> Void]
        /// The callers that arrived while a read was in progress.
        var later: [(RedisFailure?) -> Void] = []

        init(_ topic: Topic, _ done: @escaping (RedisFailure?) -> Void) {
            self.topic = topic
            waiting = [done]
        }
    }

    /// By the index of their topic, which is held.
    private var underWay: [UInt32: Reading] = [:]
    /// To be read again if they still exist.
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

    /// Reads the entries that the log lacks, and appends them.
    ///
    /// - Parameter done: Called once: with `nil` when the log has everything that the store had at the time of the
    ///   call, or with the failure. Failed reads are repeated automatically.
    package func complete(_ topic: Topic, done: @escaping (RedisFailure?) -> Void = { _ in }) {
        precondition(topic.log != nil, "a topic of kind \(topic.kind) keeps no log")
        guard watchers.isHere(topic) else { return done(nil) }
        if let reading = underWay[topic.index] { return reading.later.append(done) }
        topic.holds += 1
        let reading = Reading(topic, done)
        underWay[topic.index] = reading
        read(reading)
    }

    /// Repeats failed reads.
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
        // The state at the time of the request: if the reply has less, the store has lost entries. Entries that arrive
        // meanwhile are newer than the reply.
        let (held, wasPlaced, ahead) = (log.last, log.isPlaced, log.ahead)
        kind.readLog(topic, after: held) { [self] result in
            switch result {
            case .failure(let failure): finish(reading, failure)
            case .success(let page):
                if !wasPlaced {
                    _ = log.record(last: page.end)
                } else if page.end < held {
                    restart(topic, at: page.end)
                } else {
                    for entry in page.entries { watchers.append(entry.frame, sequence: entry.sequence, to: topic) }
                    restartThose(ahead, of: topic, beyond: page.end)
                }
                guard log.last >= page.end else {
                    // The store returned less than its own end: read again a little later.
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

    /// The store has fewer entries than were delivered: instructs every watcher to start again, and to expect later entries.
    private func restart(_ topic: Topic, at end: Int64) {
        watchers.restart(topic, at: end)
        guard let frame = watchers.kind(of: topic)?.restartFrame(of: topic, at: end) else { return }
        for watch in topic.watchers { send(watch.connection, frame) }
    }

    /// For watchers whose cursor is beyond the end: no server can have delivered more entries than the store had, so
    /// the store has lost some.
    private func restartThose(_ ahead: [UInt32: Int64], of topic: Topic, beyond end: Int64) {
        guard let log = topic.log else { return }
        let lost = ahead.filter { $0.value > end && log.ahead[$0.key] == $0.value }
        guard !lost.isEmpty, let frame = watchers.kind(of: topic)?.restartFrame(of: topic, at: log.last) else { return }
        // They start from the current end, so this turn's entries are not marked for them.
        watchers.markWatchers()
        for connection in lost.keys {
            log.ahead[connection] = nil
            send(connection, frame)
        }
    }

    /// Sends a frame like a reply: also in the background, and before all later events.
    private func send(_ index: UInt32, _ frame: [UInt8]) {
        guard let connection = watchers.connections[Int(index)], !connection.isClosed else { return }
        connection.outbox += frame
        outboxes.change(by: frame.count)
        watchers.markMail(connection)
    }
}
