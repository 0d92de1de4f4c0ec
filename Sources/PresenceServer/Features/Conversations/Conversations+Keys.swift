import PresenceCore
import PresenceProtocol

extension KeyFamily {
    /// The conversations that a user is in, or has been in.
    static let inbox = KeyFamily(name: "inbox", isPassing: false, type: "hash")
    /// The messages of a conversation, and their changes.
    static let log = KeyFamily(name: "log", isPassing: false, type: "list")
    static let changes = KeyFamily(name: "changes", isPassing: false, type: "list")
    static let prints = KeyFamily(name: "prints", isPassing: false, type: "string")
}

extension PartitionKeys {
    /// The conversation that the user made with each creation key.
    func creations(_ id: UserID) -> String { name + ":creations:" + id.string }
    func inbox(_ id: UserID) -> String { key(.inbox, id) }
    func log(_ id: ConversationID) -> String { key(.log, id) }
    func changes(_ id: ConversationID) -> String { key(.changes, id) }
    func prints(_ id: ConversationID) -> String { key(.prints, id) }

    /// All keys of a conversation, for an intent's steps that may end it.
    func whole(_ id: ConversationID) -> KeyValuePairs<StaticString, String> {
        [
            "unfinished": unfinished, "conversation": conversation(id), "typing": typing(id), "log": log(id),
            "changes": changes(id), "prints": prints(id), "attachments": attachments(id),
            "attachmentsDue": attachmentsDue,
        ]
    }
}
