import WebSockets

/// What fan-out has to know of one connection. Lines stand in one array, by the index of their socket, so that
/// marking thousands of connections walks over memory and counts no references. 32 bytes.
struct Line {
    /// That of its socket.
    var generation: UInt32 = 0
    var flags: Flags = []
    /// Changes of this turn that it is still to be written, by their numbers: one run without gaps.
    var turn: Range<UInt32> = 0..<0
    var subscriptions: [Subscription] = []
    /// What could not be written in the turn of its change, in the order of the changes. In a long list a topic may be
    /// there more than once until it is merged (`KeptMerger`).
    var kept: [Kept] = []

    struct Flags: OptionSet {
        let rawValue: UInt8
        /// In use, and not closed.
        static let open = Flags(rawValue: 1)
        /// Stands in the list of those to be written to at the end of the turn.
        static let dirty = Flags(rawValue: 2)
        /// Its `Connection` holds something for it beside events: replies, staleness, its user's own status.
        static let mail = Flags(rawValue: 4)
        /// The socket takes no more for now.
        static let congested = Flags(rawValue: 8)
        /// Its client is in the background: events are held back, everything else goes on.
        static let background = Flags(rawValue: 16)
        /// What its user may see has still to be read: events are held back so long.
        static let withheld = Flags(rawValue: 32)
        /// What holds events back.
        static let silent: Flags = [.background, .withheld]
    }

    /// Events for it are kept: it cannot or shall not get them now, or older ones wait already.
    var keeps: Bool { !flags.isDisjoint(with: [.congested, .background, .withheld]) || !kept.isEmpty }

    /// One watched topic, from the connection's side. 8 bytes.
    struct Subscription {
        let topic: UInt32
        /// Where this connection stands in the topic's watchers.
        var place: UInt32
    }

    /// A topic with the registers of it that are to be written. 4 bytes.
    struct Kept {
        private let bits: UInt32

        init(topic: UInt32, marks: Marks) { bits = topic << 2 | UInt32(marks.rawValue) }

        var topic: UInt32 { bits >> 2 }
        var marks: Marks { Marks(rawValue: UInt8(bits & 3)) }
    }

    /// What it is to be written now.
    enum Due {
        case nothing
        /// A run of this turn's changes and nothing else: the usual case.
        case run(Range<UInt32>, generation: UInt32)
        case more
    }

    /// Takes it off the list of those to be written to, with its run if that is all it is due.
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
    /// Appends, growing by an eighth: doubling would cost as much memory again as all subscriptions need.
    mutating func appendSparingly(_ element: Element) {
        if count == capacity { reserveCapacity(count + Swift.max(4, count / 8)) }
        append(element)
    }
}
