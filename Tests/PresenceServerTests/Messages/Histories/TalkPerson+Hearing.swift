import Foundation
import PresenceProtocol

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Handles the messages that a client of a `TalkHistory` receives.
extension TalkPerson {
    func read() {
        while seen < client.texts.count {
            seen += 1
            let data = Data(client.texts[seen - 1].utf8)
            guard let message = try? JSONSerialization.jsonObject(with: data) as? [String: Any] else { continue }
            receive(message)
        }
        if !client.isConnected, !isGone { connect() }
    }

    private func receive(_ message: [String: Any]) {
        let id = message["id"] as? Int ?? 0
        switch message["type"] as? String {
        case "connected": isIn = true
        case "subscribed":
            if id == listing { beginList(message) }
            if let talk = following.removeValue(forKey: id) { begin(message, talk) }
        case "message": apply(message)
        case "messagesReset": reset(message["conversation"] as? String ?? "")
        case "conversation": applyList(message["conversation"] as? [String: Any] ?? [:])
        case "conversationCreated":
            let talk = message["conversation"] as? [String: Any] ?? [:]
            history.learn(talk["id"] as? String ?? "", isGroup: talk["kind"] as? String == "group")
            fulfil(id)
        case "sent":
            let sent = message["message"] as? [String: Any] ?? [:]
            let (name, seq) = (sent["id"] as? String ?? "", number(sent["seq"]))
            history.talkOf[name] = message["conversation"] as? String
            if let before = history.acknowledged.updateValue(seq, forKey: name), before != seq {
                history.fail("\(name) was acknowledged as \(before) and as \(seq)")
            }
            fulfil(id)
        case "ok": fulfil(id)
        case "messageUpdated": fulfil(id, seq: number((message["message"] as? [String: Any])?["seq"]))
        case "conversationInfo":
            if let talk = asked.removeValue(forKey: id) {
                compareUnread(talk, message["conversation"] as? [String: Any] ?? [:])
            }
        case "error": refused(message, id)
        default: break
        }
        keepGoing()
    }

    func number(_ value: Any?) -> Int64 { (value as? NSNumber)?.int64Value ?? 0 }

    /// - Parameter seq: The number of the changed message.
    private func fulfil(_ id: Int, seq: Int64 = 0) {
        guard let wish = end(id) else { return }
        let talk = wish.talk
        if wish.mark > 0 { held[talk]!.read = max(held[talk]!.read, wish.mark) }
        if wish.delivered > 0 { held[talk]!.delivered = max(held[talk]!.delivered, wish.delivered) }
        if let name = wish.name { history.recordName(name, after: wish.times) }
        if let id = wish.deletes { history.deleted[id] = seq }
        if let blocks = wish.blocks { history.recordBlock(blocks, by: name, after: wish.times) }
        if wish.script == .send { history.recordSent(in: talk, by: name, askedAt: wish.askedAt) }
        if wish.script == .settings { adopt(wish, talk) }
        if let receipts = wish.receipts { adopt(receipts: receipts, after: wish.times) }
    }

    /// Removes an answered request from the queue.
    @discardableResult
    private func end(_ id: Int) -> TalkWish? {
        guard let talk = underWay.removeValue(forKey: id) else { return nil }
        return wishes.firstIndex { $0.talk == talk }.map { wishes.remove(at: $0) }
    }

    private func adopt(_ wish: TalkWish, _ talk: String) {
        var settings = held[talk]!.settings
        settings.isMuted = wish.settings.isArchived == nil ? wish.settings.isMuted : settings.isMuted
        settings.isArchived = wish.settings.isArchived ?? settings.isArchived
        settings.isUncertain = settings.isUncertain || wish.times > 1
        held[talk]!.settings = settings
    }

    private func refused(_ message: [String: Any], _ id: Int) {
        let code = message["code"] as? String
        let talk = following.removeValue(forKey: id) ?? asked.removeValue(forKey: id) ?? underWay[id]
        if listing == id { listing = nil }
        if code == "unavailable" || code == "rate_limited" {
            underWay[id] = nil
            again = history.world.now + 300
        } else if code == "conflict", (message["message"] as? String) == "the message is deleted" {
            end(id)
        } else if code == "not_found", history.keepFor > 0 {
            end(id)
        } else if code == "forbidden", let talk, history.mayForbid(name, talk) {
            end(id)
            again = history.world.now + 300
        } else if !isGone {
            history.fail("\(name) was answered \(message)")
        }
    }

    // MARK: Messages

    private func begin(_ message: [String: Any], _ talk: String) {
        for part in message["conversations"] as? [[String: Any]] ?? [] {
            history.recordReceived(number(part["messagesVersion"]), of: talk, by: name)
            if part["reset"] != nil {
                if history.keepFor == 0 { history.fail("\(name) was reset") }
                let messages = part["messages"] as? [[String: Any]] ?? []
                let from = messages.first.map { number($0["seq"]) } ?? number(part["first"])
                held[talk]!.messages = [:]
                (held[talk]!.from, held[talk]!.newest) = (from, from - 1)
            }
            for each in part["messages"] as? [[String: Any]] ?? [] { hold(each, talk) }
            held[talk]!.change = number(part["messagesVersion"])
        }
        held[talk]!.isFollowing = message["more"] == nil
    }

    /// The messages that the client missed have been removed.
    private func reset(_ talk: String) {
        if history.keepFor == 0 { history.fail("\(name) was told to begin anew") }
        held[talk]?.isFollowing = false
    }

    private func apply(_ event: [String: Any]) {
        let change = number(event["conversationVersion"])
        guard let talk = event["conversation"] as? String, let state = held[talk] else { return }
        history.recordReceived(change, of: talk, by: name)
        guard state.isFollowing else { return }
        if change != state.change + 1 {
            history.fail("\(name) heard change \(change) after \(state.change) of \(talk)")
        }
        held[talk]!.change = change
        hold(event["message"] as? [String: Any] ?? [:], talk)
    }

    private func hold(_ message: [String: Any], _ talk: String) {
        let (seq, version) = (number(message["seq"]), number(message["version"]))
        if seq > held[talk]!.newest + 1 { history.fail("\(name) heard of \(seq) after \(held[talk]!.newest)") }
        held[talk]!.newest = max(held[talk]!.newest, seq)
        guard version > held[talk]!.messages[seq]?.version ?? 0 else { return }
        held[talk]!.messages[seq] = TalkMessage(
            id: message["id"] as? String ?? "", text: message["text"] as? String ?? "", version: version,
            isDeleted: message["deletedAt"] != nil, isUrgent: message["priority"] != nil)
    }

    // MARK: The list

    private func beginList(_ message: [String: Any]) {
        for each in message["conversationList"] as? [[String: Any]] ?? [] { applyList(each) }
        if message["more"] == nil { (isListed, listing) = (true, nil) }
    }

    private func applyList(_ conversation: [String: Any]) {
        if conversation["removed"] == nil {
            history.recordListed(number(conversation["version"]), of: conversation["id"] as? String ?? "", to: name)
        }
        if let wrong = list.apply(conversation) { history.fail("to \(name), \(wrong)") }
    }
}
