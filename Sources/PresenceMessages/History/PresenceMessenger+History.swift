import Foundation
import PresenceKit

// Conversations and messages on the device.
extension PresenceMessenger {
    /// Shows the conversations of an earlier process until the server has confirmed them.
    func recallHistory(_ records: [String: Data]) {
        let (found, changes) = history.recall(records)
        keep(changes)
        for conversation in found where conversation.version > versions[conversation.id] ?? 0 {
            conversations[conversation.id] = conversation
            versions[conversation.id] = conversation.version
        }
        guard history.isListComplete, !isListKnown else { return }
        (isListKnown, isListStale) = (true, true)
        publishList()
    }

    /// Drops the conversations and messages of a former user. The client removes their records.
    func forgetHistory() {
        for id in talks.keys { talks[id] = Talk(id: id) }
        (conversations, versions) = ([:], [:])
        history = History(messages: configuration.keptMessages, conversations: configuration.keptConversations)
        if isListKnown { listLoops.publish([]) }
        (isListKnown, isListStale) = (false, false)
    }

    /// Keeps the newest messages of an observed conversation.
    func keepMessages(of conversation: String) {
        if let talk = talks[conversation] { keep(history.update(talk)) }
    }

    /// Stores changes in their order.
    func keep(_ changes: History.Changes) {
        guard !changes.records.isEmpty else { return }
        let former = lastKept
        lastKept = Task { [client, userNumber] in
            await former?.value
            await client.keep(changes.records, erasing: changes.erases, of: userNumber)
        }
    }
}
