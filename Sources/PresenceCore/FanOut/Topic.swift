import PresenceProtocol

/// Someone or something watched on this shard: the newest state, and who watches.
package final class Topic {
    package let subject: Identifier
    package let kind: TopicKindID
    package let index: UInt32

    /// A person's presence, or what else the topic's kind shows.
    package var first = Register() { didSet { snapshot = [] } }
    /// A person's profile.
    package var second = Register() { didSet { snapshot = [] } }
    /// What is said of both registers to somebody who begins to watch, encoded; empty until it is asked for. Kept while many
    /// watch.
    package var snapshot: [UInt8] = []
    /// Registers that have changed in this turn and stand to be laid out.
    var changed: Marks = []
    package var watchers: [Watch] = []
    /// Requests that wait for it or are about to use it.
    package var holds = 0

    /// Whether Redis has been read since the topic was made.
    var isLoaded = false
    var isLoading = false
    var waiters: [(RedisOutcome) -> Void] = []
    /// Of a person: the topics of those who may see less of them (`Watchers+Audiences.swift`), while there are any.
    package var limited: Topic?
    package var hidden: Topic?
    /// The round of `Policies` in which Redis was last asked who may see this person.
    var policyRound = 0
    /// The topic of those who may hear nothing of it for now (`Watchers+Pausing.swift`), while there are any.
    package var paused: Topic?
    /// Of such a topic: what it is a part of. The two keep each other until the part is discarded.
    var whole: Topic?
    /// What its kind keeps beside the registers.
    package var state: AnyObject?
    /// The entries of a topic whose kind keeps a log; such a topic has no registers that change.
    var log: TopicLog?

    package init(subject: Identifier, kind: TopicKindID, index: UInt32) {
        self.subject = subject
        self.kind = kind
        self.index = index
    }

    /// One watching connection, from the topic's side. 8 bytes.
    package struct Watch {
        package let connection: UInt32
        /// Where the topic stands in the connection's subscriptions.
        var position: UInt32
    }

    package enum RedisOutcome { case loaded, failed }
}

/// One register as clients get it, encoded once.
package struct Register {
    package var version: Int64 = 0
    /// The framed event, or, when Redis was read and nothing has happened since, the object alone.
    package var bytes: [UInt8] = []
    /// Where the register's object is in `bytes`; empty when nothing is known.
    package var object: Range<Int> = 0..<0
    /// Grows with every change on this shard: the order in which a person's events leave.
    var order: UInt64 = 0

    package init(version: Int64 = 0, bytes: [UInt8] = [], object: Range<Int> = 0..<0, order: UInt64 = 0) {
        self.version = version
        self.bytes = bytes
        self.object = object
        self.order = order
    }
}
