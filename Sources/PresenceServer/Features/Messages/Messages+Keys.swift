import PresenceCore
import PresenceProtocol

extension KeyFamily {
    /// The conversations of a partition by when their oldest message was sent; only while messages are kept for a time.
    static let aging = KeyFamily(name: "aging", isPassing: true, type: "zset", isOfPartition: true)
    /// That all conversations of the partition have been looked at for those that `aging` lacks (`AgingWalk`).
    static let agingFound = KeyFamily(name: "aging-found", isPassing: true, type: "string", isOfPartition: true)
}

extension PartitionKeys {
    var aging: String { "\(name):aging" }
    var agingFound: String { "\(name):aging-found" }

    /// What scripts get that change messages of a conversation.
    func written(_ id: ConversationID) -> KeyValuePairs<StaticString, String> {
        [
            "conversation": conversation(id), "log": log(id), "changes": changes(id), "prints": prints(id),
            "aging": aging, "attachments": attachments(id), "attachmentsDue": attachmentsDue,
        ]
    }
}
