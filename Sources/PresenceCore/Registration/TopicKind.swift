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
}

/// People are 0; the others are numbered as they are registered.
package struct TopicKindID: RawRepresentable, Equatable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    package static let person = TopicKindID(rawValue: 0)
}
