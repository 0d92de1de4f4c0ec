import PresenceCore
import PresenceProtocol

/// The participants and typing users of a conversation, as this shard knows them.
struct ConversationState {
    var participants: Set<UserID> = []
    /// The version of the last event from Redis. The version that watchers see may be larger, after typing has expired
    /// here.
    var eventVersion: Int64 = 0
    var version: Int64 = 0
    /// When each user's typing expires, on the monotonic clock.
    var typists: [UserID: Milliseconds] = [:]

    /// The most names that a client receives; for further users it receives only their number.
    static let mostNames = 20
    var names: [UserID] { Array(typists.keys.sorted().prefix(Self.mostNames)) }
}

/// The state of a conversation's topic.
final class ConversationTopic {
    var state = ConversationState()
    let members = ConversationMembers()
}

extension Topic {
    /// `nil` if the topic is not a conversation.
    var conversation: ConversationState? {
        get { (state as? ConversationTopic)?.state }
        set {
            guard let newValue, let topic = state as? ConversationTopic else { return }
            topic.state = newValue
        }
    }
}

extension PartitionKeys {
    /// When the typing of each session expires, by Redis' clock.
    func typing(_ id: ConversationID) -> String { name + ":typing:" + id.string }
}
