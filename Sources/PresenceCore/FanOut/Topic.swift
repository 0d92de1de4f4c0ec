import PresenceProtocol

/// A watched user or conversation on this shard: the newest state and the watchers.
package final class Topic {
    package let subject: Identifier
    package let kind: TopicKindID
    package let index: UInt32

    /// A person's presence, or the register of another kind of topic.
    package var first = Register() { didSet { snapshot = [] } }
    /// A person's profile.
    package var second = Register() { didSet { snapshot = [] } }
    /// Both registers as a new watcher gets them. Empty until the first watcher needs it, and kept only while there are
    /// many watchers.
    package var snapshot: [UInt8] = []
    /// Registers that have changed in this turn and are not yet in the turn's buffer (`Turn.layOut`).
    var changed: Marks = []
    package var watchers: [Watch] = []
    /// How many requests wait for this topic or are about to use it.
    package var holds = 0

    /// Whether this topic has been read from Redis since it was created.
    var isLoaded = false
    var isLoading = false
    var waiters: [(RedisOutcome) -> Void] = []
    /// For a person: the topics of watchers who see only a part (`Watchers+Views.swift`), while there are any.
    package var limited: Topic?
    package var hidden: Topic?
    /// The round of `VisibilityPolicies` in which this person's policy was last read from Redis.
    var policyRound = 0
    /// The topic of resting watches (`Watchers+Pausing.swift`), while there are any.
    package var paused: Topic?
    /// If this topic is a part (`limited`, `hidden` or `paused`): the topic of which it is a part. The two retain each
    /// other until the part is discarded.
    var whole: Topic?
    /// Further data that the topic's kind keeps, besides the registers.
    package var state: AnyObject?
    /// The entries, if the topic's kind keeps a log; such a topic has no registers that change.
    var log: TopicLog?

    package init(subject: Identifier, kind: TopicKindID, index: UInt32) {
        self.subject = subject
        self.kind = kind
        self.index = index
    }

    /// One watching connection, from the topic's side. 8 bytes.
    package struct Watch {
        package let connection: UInt32
        /// The topic's index in the connection's subscriptions.
        var position: UInt32
    }

    package enum RedisOutcome { case loaded, failed }
}

/// One register as sent to clients, encoded once.
package struct Register {
    package var version: Int64 = 0
    /// The framed event; or only the object, if the register was read from Redis and has not changed since.
    package var bytes: [UInt8] = []
    /// The range of the register's object in `bytes`; empty if nothing is known.
    package var object: Range<Int> = 0..<0
    /// Grows with every change on this shard: the order in which a person's events are sent.
    var order: UInt64 = 0

    package init(version: Int64 = 0, bytes: [UInt8] = [], object: Range<Int> = 0..<0, order: UInt64 = 0) {
        self.version = version
        self.bytes = bytes
        self.object = object
        self.order = order
    }
}
