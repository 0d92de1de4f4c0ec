import PresenceCore
import PresenceProtocol

/// Who takes part in a conversation and who types in it, as this shard knows.
struct ConversationState {
    var participants: Set<UserID> = []
    /// The version of the last event of Redis; what watchers see may have gone past it when someone ran out here.
    var eventVersion: Int64 = 0
    var version: Int64 = 0
    /// Until when each types, on the monotonic clock.
    var typists: [UserID: Milliseconds] = [:]

    /// The most names that a client is told; the rest are a number.
    static let mostNames = 20
    var names: [UserID] { Array(typists.keys.sorted().prefix(Self.mostNames)) }
}

/// What a topic keeps that is a conversation.
final class ConversationTopic {
    var state = ConversationState()
    let members = ConversationMembers()
}

extension Topic {
    /// `nil` if it is no conversation.
    var conversation: ConversationState? {
        get { (state as? ConversationTopic)?.state }
        set {
            guard let newValue, let topic = state as? ConversationTopic else { return }
            topic.state = newValue
        }
    }
}

extension PartitionKeys {
    /// Until when each session types there, by Redis' clock.
    func typing(_ id: ConversationID) -> String { name + ":typing:" + id.string }
}
