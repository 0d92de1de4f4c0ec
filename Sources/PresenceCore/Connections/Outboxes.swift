import PresenceProtocol
import Synchronization
import WebSockets

/// What waits for all connections of a process that do not take it: messages to single connections, and what was
/// begun to be written, in bytes; and answers over HTTP. (Events that wait are marks, 4 bytes for each thing watched.)
///
/// Each shard adds its own once a turn; one number, no lock. Answers are counted as they wait, and have at most half of it,
/// short ones aside, of which each address has a share. WebSockets have the rest.
package final class OutboxBudget: Sendable {
    /// 0: no limit.
    package let most: Int
    package let answers: AnswerBudget
    private let shards: Int
    private let held = Atomic(0)

    /// - Parameter countsLoopback: whether addresses of this machine have shares of the answers too.
    package init(_ most: Int, shards: Int = 1, countsLoopback: Bool = false) {
        self.most = most
        self.shards = max(1, shards)
        answers = AnswerBudget((most + 1) / 2, countsLoopback: countsLoopback)
    }

    /// What all WebSockets may hold, at least half of it, and those of a shard in any case.
    var room: (all: Int, shard: Int) {
        let room = max(most / 2, most - answers.held)
        return (room, room / shards)
    }

    /// Adds to the sum and returns it.
    package func add(_ bytes: Int) -> Int { held.wrappingAdd(bytes, ordering: .relaxed).newValue }
}

/// One shard's part of it, for its connections.
package final class Outboxes {
    private let budget: OutboxBudget
    private(set) var held = 0
    /// What the budget was told last.
    private var told = 0

    init(_ budget: OutboxBudget) { self.budget = budget }

    /// More, or fewer, bytes wait.
    package func change(by bytes: Int) { held += bytes }

    /// The connection gets nothing any more: what waited for it is let go.
    package func release(_ connection: Connection) {
        held -= connection.waitingBytes
        connection.outbox = []
        connection.unsent = 0
    }

    /// Tells the process' sum; returns how many bytes this shard has to let go. When the sum is too large, there is
    /// always a shard that holds more than its share.
    func settle() -> Int {
        let sum = budget.add(held - told)
        told = held
        let room = budget.room
        guard budget.most > 0, sum > room.all else { return 0 }
        return max(0, min(sum - room.all, held - room.shard))
    }
}

extension Connection {
    /// What waits for it: whole messages, and what was begun to be written, at most.
    var waitingBytes: Int { outbox.count + Int(unsent) }
}

extension ShardLogic {
    /// When too much waits, what can be read again is let go, and then stuck connections are closed, the fullest first; of two equal ones the one stuck for
    /// longer. No connection that reads is touched.
    func boundOutboxes() {
        var excess = outboxes.settle()
        for letGo in onExcess where excess > 0 { excess -= letGo(excess) }
        guard excess > 0 else { return }
        let stuck = watchers.connections.compactMap { connection -> (Connection, since: Milliseconds)? in
            guard let connection, !connection.isClosed, let since = connection.congestedSince else { return nil }
            return (connection, since)
        }.sorted { ($1.0.waitingBytes, $0.since) < ($0.0.waitingBytes, $1.since) }
        for (connection, _) in stuck where excess > 0 {
            excess -= connection.waitingBytes
            metrics.met(.outboxBytes)
            close(connection, .tooSlow, reason: "too much waited for it")
        }
    }
}
