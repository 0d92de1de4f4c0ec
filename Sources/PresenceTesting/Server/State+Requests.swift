import Foundation
import PresenceProtocol

// Requests, and the events that follow from changes.
extension InMemoryServer.State {
    typealias Object = InMemoryServer.Object
    typealias Refusal = ServerMessage.ErrorMessage

    mutating func process(_ asked: Object, _ bytes: [UInt8], from number: Int) {
        guard let peer = peers[number] else { return }
        let type = asked["type"] as? String ?? ""
        if let refusal = takeRefusal(type) {
            send(["type": "error", "id": asked["id"] ?? 0, "message": "no"].merging(refusal) { $1 }, to: peer)
            // A client whose `connect` is rejected is disconnected.
            if type == "connect" { self.cut(number) }
            return
        }
        let cut = cuts.removeValue(forKey: type)
        if cut == .silence { return }
        if cut == .before { return self.cut(number) }
        let replies: [[UInt8]]
        do throws(Refusal) {
            replies = try self.replies(to: asked, type, bytes, number)
        } catch {
            var error = error
            error.id = asked["id"] as? Int64 ?? (asked["id"] as? Int).map(Int64.init)
            if error.id != nil { send(.error(error), to: peer) }
            if type == "connect" { self.cut(number) }
            return
        }
        if cut == .after {
            flush()
            return self.cut(number)
        }
        for reply in replies { outbox.append(InMemoryServer.Saying(peer: peer, bytes: reply)) }
    }

    mutating func takeRefusal(_ type: String) -> Object? {
        guard let refusal = refusals[type]?.first else { return nil }
        refusals[type]!.removeFirst()
        return refusal
    }

    mutating func send(_ object: Object, to peer: InMemoryServer.Peer) {
        outbox.append(InMemoryServer.Saying(peer: peer, bytes: InMemoryServer.bytes(object)))
    }

    mutating func send(_ message: ServerMessage, to peer: InMemoryServer.Peer) {
        outbox.append(InMemoryServer.Saying(peer: peer, bytes: message.encoded()))
    }

    mutating func cut(_ number: Int) {
        guard let peer = peers[number] else { return }
        leave(number, lingers: true)
        outbox.append(InMemoryServer.Saying(peer: peer, bytes: nil))
    }

    /// - Throws: the error of the reply.
    private mutating func replies(
        to asked: Object, _ type: String, _ bytes: [UInt8], _ number: Int
    ) throws(Refusal) -> [[UInt8]] {
        let id = asked["id"] as? Int ?? 0
        let user = peers[number]!.user
        let talk = asked["conversation"] as? String ?? ""
        if !talk.isEmpty, talks[talk]?.members.contains(user) != true {
            throw Refusal(code: .forbidden, message: "this user is not in the conversation")
        }
        var reply: Object = ["type": "ok"]
        switch type {
        case "createConversation":
            reply = ["type": "conversationCreated", "conversation": try create(asked, bytes, by: user)]
        case "getConversation": reply = ["type": "conversationInfo", "conversation": view(of: talk, for: user)]
        case "renameConversation": try rename(talk, to: asked["name"] as? String ?? "")
        case "changeMembers":
            try changeMembers(
                of: talk, add: asked["add"] as? [String] ?? [], remove: asked["remove"] as? [String] ?? [], by: user)
        case "conversationSettings": set(asked, of: user, in: talk)
        case "send":
            let message = try add(asked["message"] as? Object ?? [:], from: user, in: talk)
            reply = ["type": "sent", "conversation": talk, "message": message]
        case "editMessage", "deleteMessage":
            let message = try change(asked, type, by: user, in: talk)
            reply = ["type": "messageUpdated", "conversation": talk, "message": message]
        case "getMessages":
            reply = page(of: talk, before: asked["before"] as? Int, limit: asked["limit"] as? Int ?? 50)
        case "mark": mark(user, asked["delivered"] as? Int, asked["read"] as? Int, in: talk)
        case "requestContact": try requestContact(asked, by: user)
        case "answerContact": try answerContact(asked, by: user)
        case "getNotifications":
            let items = notices[user, default: .init()].page(
                before: asked["before"] as? Int, asked["limit"] as? Int ?? 50)
            reply = notices[user, default: .init()].counts.merging(["type": "notifications", "items": items]) { $1 }
        case "markNotifications":
            notices[user, default: .init()].mark(asked, by: number)
            reply = notices[user]!.counts.merging(["type": "notificationCounts"]) { $1 }
        default: return try presenceReplies(to: bytes, number)
        }
        reply["id"] = id
        return [InMemoryServer.bytes(reply)]
    }

    // MARK: Events

    /// Sends each client what differs from what it has.
    mutating func flush() {
        for number in peers.keys.sorted() where peers[number]!.isConnected {
            flushPresence(number)
            flushAskings(number)
            flushTalks(number)
            flushNotices(number)
        }
    }

    private mutating func flushNotices(_ number: Int) {
        guard let noticed = peers[number]!.noticed else { return }
        let events = notices[peers[number]!.user, default: .init()].events
        for event in events.dropFirst(noticed) where event.by != number { send(event.object, to: peers[number]!) }
        peers[number]!.noticed = events.count
    }
}
