import PresenceProtocol
import Redis

/// Something that connections can watch, beside people: how it is read from Redis, and what a topic of it keeps.
package protocol TopicKind: AnyObject {
    /// What a new topic keeps beside its registers.
    func makeState() -> AnyObject?
    /// Asks Redis for the topic's state.
    func read(_ topic: Topic, reply: @escaping StoreReply)
    /// Redis has answered.
    ///
    /// - Parameter announced: Whether watchers are told what has changed by it.
    func take(_ value: RedisValue, of topic: Topic, announced: Bool)
    /// Whether the topic is read again before `user` watches it, since what is held would refuse them.
    func isDoubtful(_ topic: Topic, for user: UserID) -> Bool
    /// Whether its topics keep a log (`TopicLog`): every watcher gets every entry, in order. Otherwise they keep
    /// registers, and a slow watcher gets the newest.
    var keepsLog: Bool { get }
    /// A watcher needs entries of a log that are no longer in memory: the feature reads them, and says `answer` or `fail`
    /// to `ShardLogic.catchUps`, exactly once.
    func catchUp(_ request: CatchUp)
    /// Reads what comes after an entry of the topic's log, a page of it, and where the store's log ends.
    func readLog(_ topic: Topic, after sequence: Int64, reply: @escaping (Result<LogPage, RedisFailure>) -> Void)
    /// What tells a watcher that the store has lost entries: it forgets what it has of the log and reads it anew up to `end`;
    /// entries after that follow. A whole WebSocket frame.
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

/// People are 0; the others are numbered as they are registered.
package struct TopicKindID: RawRepresentable, Equatable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    package static let person = TopicKindID(rawValue: 0)
}
