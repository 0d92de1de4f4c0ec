import Foundation
import PresenceProtocol

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Compares the state of a client in a `TalkHistory` with the store.
extension TalkPerson {
    func compare(_ talk: String, with messages: [StoredMessage]) {
        // Removed messages are not sent.
        let first = max(messages.first?.seq ?? (history.keepFor > 0 ? .max : 1), held[talk]!.from)
        let messages = messages.filter { $0.seq >= first }
        let mine = held[talk]!.messages.filter { $0.key >= first }
        for message in messages {
            let text = String(decoding: message.text, as: UTF8.self).dropFirst().dropLast()
            guard let found = mine[message.seq] else {
                history.fail("\(name) lacks \(message.seq) of \(talk)")
                continue
            }
            let isSame = found.id == message.id && found.text == text && found.version == message.version
            if !isSame || found.isDeleted != (message.deletedAt > 0) {
                history.fail("\(name) has \(found) of \(talk), where the store has version \(message.version)")
            }
        }
        if mine.count != messages.count { history.fail("\(name) has \(mine.count) of \(messages.count) messages") }
    }

    /// Acknowledged settings are in effect.
    func compareSettings(_ talk: String, _ own: ConversationRecord.Member, at now: Timestamp) {
        // A user who returned has default settings.
        if talk == history.group, history.joinedAt[name] != nil { return }
        guard let settings = held[talk]?.settings, !settings.isUncertain else { return }
        let isWrong = settings.isMuted.map { $0 != (own.muted == -1) } ?? false
        if isWrong || settings.isArchived.map({ $0 != (own.archived > 0) }) ?? false {
            history.fail("the settings of \(name) in \(talk) are \(own), and \(settings) was acknowledged")
        }
    }

    /// A delivered mark stays, whatever the user's other devices send.
    func compareDelivered(_ talk: String, _ own: ConversationRecord.Member) {
        let said = history.people.filter { $0.name == name }.compactMap { $0.held[talk] }
        let most = said.map { max($0.read, $0.delivered) }.max() ?? 0
        if own.delivered < most { history.fail("\(most) of \(talk) came to \(name), and \(own) is there") }
    }

    /// Acknowledged receipt settings are in effect in every conversation.
    func compareReceipts(_ talk: String, _ own: ConversationRecord.Member, of user: String) {
        let isHidden = user.hasPrefix("n")
        if let receipts, receipts == isHidden {
            history.fail("the receipts of \(name) are \(user), and that they are shown was acknowledged: \(receipts)")
        }
        if own.hidesReceipts != isHidden { history.fail("the receipts of \(name) are \(user), and in \(talk) \(own)") }
    }

    /// Counts the unread messages: those that are not deleted, after the read mark, after the user's own last one, and
    /// since they returned.
    func compareUnread(_ talk: String, _ conversation: [String: Any]) {
        let state = held[talk]!
        let wrote = state.messages.filter { $0.value.id.hasPrefix(name + "-") }.keys.max() ?? 0
        let first = number(conversation["first"])
        // Read on any of the user's devices.
        let read = history.people.filter { $0.name == name }.compactMap { $0.held[talk]?.read }.max() ?? 0
        let seen = max(read, wrote, first - 1, history.group == talk ? history.joinedAt[name] ?? 0 : 0)
        // (The client may lack older messages, which are in the store.)
        let others = ((try? history.stored(talk)) ?? []).filter { $0.seq < state.from && $0.deletedAt == 0 }.map(\.seq)
        let there = state.messages.filter { !$0.value.isDeleted && $0.key >= state.from }.keys + others
        let shadow = there.count { $0 > seen }
        if (conversation["lastMessage"] != nil) != (number(conversation["last"]) >= first) {
            history.fail("\(name) is told of a last message of \(talk) that is not there, or of none")
        }
        // (The client cannot count messages that it lacks.) The newest 32 count.
        let urgent = state.messages.filter { $0.value.isUrgent && !$0.value.isDeleted }
        let isKnown = state.from - 1 <= seen && state.messages.values.count(where: \.isUrgent) <= 32
        if isKnown, number(conversation["priorityCount"]) != urgent.keys.count(where: { $0 > seen }) {
            history.fail("\(name) has urgent ones of \(talk) from \(seen), and is told \(conversation)")
        }
        if number(conversation["unread"]) != shadow {
            history.fail("\(name) has \(shadow) unread of \(talk), and is told \(conversation["unread"] ?? "nothing")")
        }
    }
}
