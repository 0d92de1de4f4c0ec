import Foundation
import PresenceKit

// Conversations and messages on the device.
extension PresenceMessenger {
    /// Waits until conversations and messages of an earlier process may be shown: until the user is known, 0.3 s if the
    /// token takes longer.
    func recalled() async {
        await restored()
        client.beginConnecting()
        if !isHistoryShown { await withCheckedContinuation { recollections.append($0) } }
    }

    /// Shows the conversations of an earlier process, once, until the server has confirmed them.
    func showHistory() {
        isHistoryShown = true
        recallHistory()
        recollections.forEach { $0.resume() }
        recollections = []
    }

    private func recallHistory() {
        guard !records.isEmpty else { return }
        let (found, changes) = history.recall(records)
        records = [:]
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
        (conversations, versions, records) = ([:], [:], [:])
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
