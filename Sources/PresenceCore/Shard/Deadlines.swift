import HeapModule
import PresenceProtocol
import WebSockets

/// What falls due when, in the order of its time: the shard's only timers beside the loop's own.
///
/// Stale entries are not taken out; the code they wake checks whether there is still something to do. That makes
/// "heard from it again" free: a heartbeat's entry is looked at once an interval, not moved at every message.
package struct Deadlines {
    package enum Subject: Equatable {
        /// Ping, death by silence, no `connect` in time, a token that runs out: whatever comes first.
        case heartbeat(SocketID)
        /// The same of many connections, most of which are pinged now (`takeBeat`).
        case beat(Milliseconds)
        /// Nothing could be written since.
        case congestion(SocketID)
        /// A lost session counts as gone.
        case linger(session: UInt64)
        /// Redis did not take what it was told of a session.
        case tell(session: UInt64)
        /// A user's chosen status runs out.
        case lapse(UserID)
        /// Redis did not take a newer version of what was shown already.
        case renumber(user: UserID)
        /// A client is sent away by a server that goes, and told to come back elsewhere after so many ms.
        case departure(SocketID, reconnectAfter: Milliseconds)
        /// Who may see a user could not be read.
        case policy(UserID)
        /// Intents that others left are looked for.
        case intents
        /// What a feature has set, with a number or an id of its own, or without.
        case feature(DeadlineKind)
        /// The same, of which only the last that was set counts.
        case onlyFeature(DeadlineKind)
        case featureNumber(DeadlineKind, UInt64)
        case featureID(DeadlineKind, Identifier)
    }

    private struct Entry: Comparable {
        let time: Milliseconds
        /// Entries of one time fall due in the order in which they were set: runs are repeatable.
        let order: UInt64
        let subject: Subject

        static func == (a: Entry, b: Entry) -> Bool { a.order == b.order }
        static func < (a: Entry, b: Entry) -> Bool { (a.time, a.order) < (b.time, b.order) }
    }

    private var heap = Heap<Entry>()
    private var orders: UInt64 = 0
    /// Pings fall due at few times, some 128 in an interval (`ShardLogic.nextPing`). All of one time have one entry in the
    /// heap, which would otherwise have one for each connection.
    private var beats: [Milliseconds: [SocketID]] = [:]
    /// When those fall due of whose kind only the last counts.
    private var only: [UInt8: Milliseconds] = [:]

    package var count: Int { heap.count + beats.values.reduce(0) { $0 + $1.count - 1 } }
    /// What for, in no order.
    var subjects: [Subject] { heap.unordered.map(\.subject) }

    /// When the next one falls due, on the loop's monotonic clock.
    package var next: Milliseconds? { heap.min?.time }

    mutating func set(_ subject: Subject, at time: Milliseconds) {
        orders += 1
        heap.insert(Entry(time: time, order: orders, subject: subject))
    }

    /// A connection is looked at when others are, too.
    mutating func set(beatOf socket: SocketID, at time: Milliseconds) {
        guard beats[time]?.append(socket) == nil else { return }
        beats[time] = [socket]
        set(.beat(time), at: time)
    }

    /// Whose beat it is that has fallen due, in the order in which they were set.
    mutating func takeBeat(_ time: Milliseconds) -> [SocketID] { beats.removeValue(forKey: time) ?? [] }

    package mutating func set(_ kind: DeadlineKind, _ key: DeadlineKey = .none, at time: Milliseconds) {
        switch key {
        case .none: set(.feature(kind), at: time)
        case .number(let number): set(.featureNumber(kind, number), at: time)
        case .id(let id): set(.featureID(kind, id), at: time)
        }
    }

    /// In place of what was set so of this kind before.
    package mutating func setOnly(_ kind: DeadlineKind, at time: Milliseconds) {
        only[kind.index] = time
        set(.onlyFeature(kind), at: time)
    }

    /// Takes out the next one that is due at `now`.
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
