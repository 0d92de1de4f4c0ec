import WebSockets

/// The data of one connection that fan-out needs. Lines are in one array, indexed by socket, so that marking thousands
/// of connections is a walk over memory without reference counting. 32 bytes.
struct Line {
    /// The socket's generation.
    var generation: UInt32 = 0
    var flags: Flags = []
    /// Changes of this turn to be written, as their numbers: one run without gaps.
    var turn: Range<UInt32> = 0..<0
    var subscriptions: [Subscription] = []
    /// Topics whose changes could not be written in their turn, in order of the changes. In a long list a topic may
    /// occur more than once until the list is merged (`KeptMerger`).
    var kept: [Kept] = []

    struct Flags: OptionSet {
        let rawValue: UInt8
        /// In use, and not closed.
        static let open = Flags(rawValue: 1)
        /// In the list of connections to be written at the end of the turn.
        static let dirty = Flags(rawValue: 2)
        /// Its `Connection` has something to send besides events: replies, staleness, its user's own status.
        static let mail = Flags(rawValue: 4)
        /// The socket accepts no more for now.
        static let congested = Flags(rawValue: 8)
        /// Its client is in the background: events are withheld, everything else is sent.
        static let background = Flags(rawValue: 16)
        /// Events are withheld until the policies are read that decide what its user may see.
        static let withheld = Flags(rawValue: 32)
        /// The flags that withhold events.
        static let silent: Flags = [.background, .withheld]
    }

    /// Its events are kept: they cannot or must not be sent now, or older ones are already waiting.
    var keeps: Bool { !flags.isDisjoint(with: [.congested, .background, .withheld]) || !kept.isEmpty }

    /// One watched topic, from the connection's side. 8 bytes.
    struct Subscription {
        let topic: UInt32
        /// This connection's index in the topic's watchers.
        var place: UInt32
    }

    /// A topic and those of its registers that are to be written. 4 bytes.
    struct Kept {
        private let bits: UInt32

        init(topic: UInt32, marks: Marks) { bits = topic << 2 | UInt32(marks.rawValue) }

        var topic: UInt32 { bits >> 2 }
        var marks: Marks { Marks(rawValue: UInt8(bits & 3)) }
    }

    /// The data due for writing.
    enum Due {
        case nothing
        /// Only a run of this turn's changes: the common case.
        case run(Range<UInt32>, generation: UInt32)
        case more
    }

    /// Removes the line from the list of lines to be written, and its run too if nothing else is due.
    mutating func takeDue() -> Due {
        flags.remove(.dirty)
        guard flags.contains(.open), flags.isDisjoint(with: .congested) else { return .nothing }
        if flags.contains(.mail) || !kept.isEmpty { return .more }
        if turn.isEmpty { return .nothing }
        defer { turn = 0..<0 }
        return .run(turn, generation: generation)
    }
}

/// Registers of a topic.
package struct Marks: OptionSet {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    package static let first = Marks(rawValue: 1)
    package static let second = Marks(rawValue: 2)
}

extension Array {
    /// Appends, growing by an eighth: doubling could use as much memory again as all subscriptions need.
    mutating func appendSparingly(_ element: Element) {
        if count == capacity { reserveCapacity(count + Swift.max(4, count / 8)) }
        append(element)
    }
}
