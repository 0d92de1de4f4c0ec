import PresenceProtocol
import Redis

/// A kind of topics that connections can watch, besides people: how it is read from Redis, and its state.
package protocol TopicKind: AnyObject {
    /// A new topic's state besides its registers.
    func makeState() -> AnyObject?
    /// Reads the topic's state from Redis.
    func read(_ topic: Topic, reply: @escaping StoreReply)
    /// Applies the reply from Redis.
    ///
    /// - Parameter announced: Whether watchers are informed of changes.
    func apply(_ value: RedisValue, of topic: Topic, announced: Bool)
    /// Whether the topic must be read again before `user` watches it, since the state in memory would reject them.
    func isDoubtful(_ topic: Topic, for user: UserID) -> Bool
    /// Whether its topics keep a log (`TopicLog`): every watcher gets every entry, in order. Otherwise they keep
    /// registers, and a slow watcher gets the newest.
    var keepsLog: Bool { get }
    /// A watcher needs entries of a log that are no longer in memory: the feature reads them, and calls `complete` or
    /// `fail` of `ShardLogic.catchUps` exactly once.
    func catchUp(_ request: CatchUp)
    /// Reads a page of the log's entries after the given one, and the end of the store's log.
    func readLog(_ topic: Topic, after sequence: Int64, reply: @escaping (Result<LogPage, RedisFailure>) -> Void)
    /// The message that informs a watcher that the store has lost entries: the watcher drops its entries of the log and
    /// reads them again up to `end`; later entries follow. A whole WebSocket frame.
    func restartFrame(of topic: Topic, at end: Int64) -> [UInt8]
}

extension TopicKind {
    package var keepsLog: Bool { false }
    package func catchUp(_ request: CatchUp) { preconditionFailure("\(Self.self) keeps a log and does not read it") }
    package func readLog(_ topic: Topic, after: Int64, reply: @escaping (Result<LogPage, RedisFailure>) -> Void) {
        preconditionFailure("\(Self.self) keeps a log and does not read it")
    }
    package func restartFrame(of topic: Topic, at end: Int64) -> [UInt8] {
        preconditionFailure("\(Self.self) keeps a log and cannot tell that entries were lost")
    }
}

/// People are 0; the other kinds are numbered in order of registration.
package struct TopicKindID: RawRepresentable, Equatable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    package static let person = TopicKindID(rawValue: 0)
}
