import PresenceProtocol
import Synchronization
import WebSockets

/// The pending data of all connections of a process: messages to single connections, partly written data, and HTTP
/// responses, in bytes. (Pending events are marks, 4 bytes for each watched topic.)
///
/// Each shard adds its own sum once a turn: one number, no lock. HTTP responses are counted as they wait, and may use
/// at most half of the budget; each address has a share of that half, which short responses may exceed. WebSockets have
/// the rest.
package final class OutboxBudget: Sendable {
    /// 0: no limit.
    package let most: Int
    package let answers: AnswerBudget
    private let shards: Int
    private let held = Atomic(0)

    /// - Parameter countsLoopback: Whether addresses of this machine have shares too.
    package init(_ most: Int, shards: Int = 1, countsLoopback: Bool = false) {
        self.most = most
        self.shards = max(1, shards)
        answers = AnswerBudget((most + 1) / 2, countsLoopback: countsLoopback)
    }

    /// The bytes for all WebSockets (at least half of the total), and the bytes that each shard may have in any case.
    var room: (all: Int, shard: Int) {
        let room = max(most / 2, most - answers.held)
        return (room, room / shards)
    }

    /// Adds to the sum and returns it.
    package func add(_ bytes: Int) -> Int { held.wrappingAdd(bytes, ordering: .relaxed).newValue }
}

/// One shard's part of the budget, for its connections.
package final class Outboxes {
    private let budget: OutboxBudget
    private(set) var held = 0
    /// The number last added to the budget.
    private var reported = 0

    init(_ budget: OutboxBudget) { self.budget = budget }

    /// Notes how many pending bytes were added, or, if negative, removed.
    package func change(by bytes: Int) { held += bytes }

    /// The connection gets nothing any more: drops its pending data.
    package func release(_ connection: Connection) {
        held -= connection.waitingBytes
        connection.outbox = []
        connection.unsent = 0
    }

    /// Updates the process' sum; returns how many bytes this shard has to drop. If the sum is too large, at least one
    /// shard has more than its share.
    func updateSum() -> Int {
        let sum = budget.add(held - reported)
        reported = held
        let room = budget.room
        guard budget.most > 0, sum > room.all else { return 0 }
        return max(0, min(sum - room.all, held - room.shard))
    }
}

extension Connection {
    /// The pending bytes: whole messages, and an upper bound of a partly written one.
    var waitingBytes: Int { outbox.count + Int(unsent) }
}

extension ShardLogic {
    /// If too much is pending, drops what can be read again, then closes congested connections, the fullest first; of
    /// equally full ones, the one that has been congested for longer. Connections that read are not affected.
    func boundOutboxes() {
        var excess = outboxes.updateSum()
        for letGo in onExcess where excess > 0 { excess -= letGo(excess) }
        guard excess > 0 else { return }
        let stuck = watchers.connections.compactMap { connection -> (Connection, since: Milliseconds)? in
            guard let connection, !connection.isClosed, let since = connection.congestedSince else { return nil }
            return (connection, since)
        }.sorted { ($1.0.waitingBytes, $0.since) < ($0.0.waitingBytes, $1.since) }
        for (connection, _) in stuck where excess > 0 {
            excess -= connection.waitingBytes
            metrics.met(.outboxBytes)
            close(connection, .tooSlow, reason: "too much data was pending")
        }
    }
}
