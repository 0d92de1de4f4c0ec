import HeapModule
import PresenceProtocol
import WebSockets

/// The shard's deadlines in order of time: its only timers besides the loop's own.
///
/// A heap with lazy deletion: outdated entries stay, and the code that they wake checks whether there is still
/// something to do. So a received message costs nothing here: a connection's entry is checked once an interval, and not
/// moved at every message.
package struct Deadlines {
    package enum Subject: Equatable {
        /// Ping, timeout of a silent connection, no `connect` in time, expiry of a token: whichever comes first.
        case heartbeat(SocketID)
        /// The same deadlines of many connections, most of which are pinged now (`takeBeat`).
        case beat(Milliseconds)
        /// Nothing could be written to the connection since this was set.
        case congestion(SocketID)
        /// A lost session's linger is over.
        case linger(session: UInt64)
        /// Redis did not store a session's state: retry.
        case report(session: UInt64)
        /// A user's chosen status expires.
        case lapse(UserID)
        /// Redis did not accept a newer version of a register that was already shown: retry.
        case renumber(user: UserID)
        /// A draining server closes a client's connection, with the advice to reconnect after this many ms.
        case departure(SocketID, reconnectAfter: Milliseconds)
        /// A user's policy could not be read: retry. Or its caching ends.
        case policy(UserID)
        /// Sweep of unfinished intents.
        case intents
        /// Set by a feature: with a number or an id that the feature chose, or with neither.
        case feature(DeadlineKind)
        /// As `feature`, but each entry replaces the one before.
        case onlyFeature(DeadlineKind)
        case featureNumber(DeadlineKind, UInt64)
        case featureID(DeadlineKind, Identifier)
    }

    private struct Entry: Comparable {
        let time: Milliseconds
        /// Entries of the same time are due in the order in which they were set, so that runs are repeatable.
        let order: UInt64
        let subject: Subject

        static func == (a: Entry, b: Entry) -> Bool { a.order == b.order }
        static func < (a: Entry, b: Entry) -> Bool { (a.time, a.order) < (b.time, b.order) }
    }

    private var heap = Heap<Entry>()
    private var orders: UInt64 = 0
    /// Pings are due at few different times, some 128 in an interval (`ShardLogic.nextPing`). All pings of one time
    /// share an entry in the heap, instead of one for each connection.
    private var beats: [Milliseconds: [SocketID]] = [:]
    /// For each kind of which only the last entry counts: the time of that entry.
    private var only: [UInt8: Milliseconds] = [:]

    package var count: Int { heap.count + beats.values.reduce(0) { $0 + $1.count - 1 } }
    /// The subjects of all entries, unordered.
    var subjects: [Subject] { heap.unordered.map(\.subject) }

    /// The time of the next one, on the loop's monotonic clock.
    package var next: Milliseconds? { heap.min?.time }

    mutating func set(_ subject: Subject, at time: Milliseconds) {
        orders += 1
        heap.insert(Entry(time: time, order: orders, subject: subject))
    }

    /// Adds a connection to those checked at this time.
    mutating func set(beatOf socket: SocketID, at time: Milliseconds) {
        guard beats[time]?.append(socket) == nil else { return }
        beats[time] = [socket]
        set(.beat(time), at: time)
    }

    /// The connections whose pings are due, in the order in which they were added.
    mutating func takeBeat(_ time: Milliseconds) -> [SocketID] { beats.removeValue(forKey: time) ?? [] }

    package mutating func set(_ kind: DeadlineKind, _ key: DeadlineKey = .none, at time: Milliseconds) {
        switch key {
        case .none: set(.feature(kind), at: time)
        case .number(let number): set(.featureNumber(kind, number), at: time)
        case .id(let id): set(.featureID(kind, id), at: time)
        }
    }

    /// Replaces the earlier entry of this kind.
    package mutating func setOnly(_ kind: DeadlineKind, at time: Milliseconds) {
        only[kind.index] = time
        set(.onlyFeature(kind), at: time)
    }

    /// Removes and returns the next one that is due at `now`.
    mutating func popDue(_ now: Milliseconds) -> Subject? {
        while let first = heap.min, first.time <= now {
            heap.removeMin()
            if case .onlyFeature(let kind) = first.subject {
                guard only[kind.index] == first.time else { continue }
                only[kind.index] = nil
            }
            return first.subject
        }
        return nil
    }
}
