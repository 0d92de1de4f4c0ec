import CAssets
import PresenceCore
import PresenceProtocol

/// The scripts of this folder's feature.
extension Script {
    static let messageLibrary = conversationLibrary + ScriptLibrary(asset_message_lib())

    private static func message(_ name: String, _ file: asset) -> Script {
        Script(name, file, library: messageLibrary, isAcknowledged: true)
    }

    static let send = message("send", asset_send())
    static let editMessage = message("edit-message", asset_edit_message())
    static let deleteMessage = message("delete-message", asset_delete_message())
    static let eraseMessages = message("erase-messages", asset_erase_messages())
    static let messages = Script("messages", asset_messages())
    static let catchUp = Script("catch-up", asset_catch_up())
    static let logPage = Script("log-page", asset_log_page())

    static let expireMessages = Script("expire-messages", asset_expire_messages(), library: messageLibrary)
    /// For `presenced doctor`.
    static let mendLog = Script("mend-log", asset_mend_log(), library: messageLibrary)
    static let findAging = Script("find-aging", asset_find_aging())

    static let messageScripts: [Script] =
        [.send, .editMessage, .deleteMessage, .messages, .catchUp, .logPage, .mendLog] + aging + [.eraseMessages]
    /// For messages that are kept for a limited time.
    static let aging: [Script] = [.expireMessages, .findAging]
}

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
