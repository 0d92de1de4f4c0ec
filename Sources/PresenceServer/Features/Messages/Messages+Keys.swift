import PresenceCore
import PresenceProtocol

extension KeyFamily {
    /// The conversations of a partition by the time of their oldest message; only if messages are kept for a limited
    /// time.
    static let aging = KeyFamily(name: "aging", isPassing: true, type: "zset", isOfPartition: true)
    /// Records that all conversations of the partition were searched for those that `aging` lacks (`AgingWalk`).
    static let agingFound = KeyFamily(name: "aging-found", isPassing: true, type: "string", isOfPartition: true)
}

extension PartitionKeys {
    var aging: String { "\(name):aging" }
    var agingFound: String { "\(name):aging-found" }

    /// The keys of scripts that change messages of a conversation.
    func written(_ id: ConversationID) -> KeyValuePairs<StaticString, String> {
        [
            "conversation": conversation(id), "log": log(id), "changes": changes(id), "prints": prints(id),
            "aging": aging, "attachments": attachments(id), "attachmentsDue": attachmentsDue,
        ]
    }

    /// The keys of scripts that change the text of a message.
    ///
    /// - Parameter verdict: `nil` if the text needs no verdict: then the key is not used.
    func written(_ id: ConversationID, verdict: String?) -> KeyValuePairs<StaticString, String> {
        [
            "conversation": conversation(id), "log": log(id), "changes": changes(id), "prints": prints(id),
            "aging": aging, "attachments": attachments(id), "attachmentsDue": attachmentsDue,
            "verdict": verdict ?? conversation(id),
        ]
    }
}
