import CAssets
import PresenceCore
import PresenceProtocol

/// The scripts of this folder's feature.
extension Script {
    /// With the library of typing, because members who leave stop typing, and the library of attachments, because
    /// uploads belong to a conversation.
    static let conversationLibrary = ScriptLibrary(
        asset_typing_lib(), asset_attachment_lib(), asset_conversation_lib())

    private static func conversation(_ name: String, _ file: asset) -> Script {
        Script(name, file, library: conversationLibrary, isAcknowledged: true)
    }

    static let create = conversation("create", asset_create())
    static let reserve = Script("reserve", asset_reserve(), isAcknowledged: true)
    static let direct = conversation("direct", asset_direct())
    static let members = conversation("members", asset_members())
    static let participants = conversation("participants", asset_participants())
    static let joining = Script("joining", asset_joining())
    static let enroll = Script("enroll", asset_enroll(), isAcknowledged: true)
    static let settle = conversation("settle", asset_settle())
    static let answerRequest = conversation("answer-request", asset_answer_request())
    static let settings = conversation("settings", asset_settings())
    static let rename = conversation("rename", asset_rename())
    static let mark = conversation("mark", asset_mark())
    static let receipts = Script("receipts", asset_receipts(), isAcknowledged: true)
    static let receiptsPage = Script("receipts-page", asset_receipts_page())
    static let receiptsMember = conversation("receipts-member", asset_receipts_member())
    static let departing = Script("departing", asset_departing())
    static let depart = conversation("depart", asset_depart())

    static let conversations: [Script] = [
        .create, .reserve, .direct, .members, .participants, .joining, .enroll, .settle, .settings, .rename, .mark,
        .receipts, .receiptsPage, .receiptsMember,
        .departing, .depart, .answerRequest,
    ]
}

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
