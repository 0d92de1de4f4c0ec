import Foundation
import PresenceProtocol

// Messages and subscriptions (docs/protocol.md, section 16).
extension InMemoryServer.State {
    /// - Returns: the stored message, also if it was sent before.
    mutating func add(_ message: Object, from user: String, in id: String) throws(Refusal) -> Object {
        let talk = talks[id]!
        if let stored = talk.log.first(where: { $0["id"] as? String == message["id"] as? String }) {
            guard stored["from"] as? String == user else {
                throw Refusal(code: .conflict, message: "another member has used this id")
            }
            return stored
        }
        try checkBlocks(user, talk)
        return store(message, from: user, in: id)
    }

    /// While one of two users blocks the other, neither writes.
    private func checkBlocks(_ user: String, _ talk: InMemoryServer.Talk) throws(Refusal) {
        guard talk.isDirect, talk.members.contains(where: { isBlocked($0, user) }) else { return }
        throw .forbidden("one blocks the other")
    }

    @discardableResult
    mutating func store(_ message: Object, from user: String, in id: String) -> Object {
        // An answer accepts the request.
        if talks[id]!.requested == user { talks[id]!.requested = nil }
        talks[id]!.version += 1
        let place: Object = [
            "seq": talks[id]!.log.count + 1, "version": talks[id]!.version, "from": user, "at": Int(tick()),
        ]
        let stored = message.merging(place) { $1 }
        talks[id]!.log.append(stored)
        return stored
    }

    /// An edit or a deletion; repeating one has no effect.
    mutating func change(
        _ asked: Object, _ type: String, by user: String, in id: String
    ) throws(Refusal) -> Object {
        let talk = talks[id]!
        guard let place = talk.log.firstIndex(where: { $0["id"] as? String == asked["message"] as? String }) else {
            throw Refusal(code: .notFound, message: "there is no such message")
        }
        var stored = talk.log[place]
        let isOwn = stored["from"] as? String == user
        let isDeleted = stored["deletedAt"] != nil
        if type == "editMessage" {
            guard isOwn else { throw .forbidden("another user's message") }
            guard !isDeleted else { throw Refusal(code: .conflict, message: "a deleted message") }
            guard let text = asked["text"] as? String, stored["text"] as? String != text else { return stored }
            try checkBlocks(user, talk)
            edit(&stored, text)
        } else {
            guard isOwn || talk.owner == user else { throw .forbidden("another user's message") }
            guard !isDeleted else { return stored }
            for member in ["edits", "attachments", "priority"] { stored.removeValue(forKey: member) }
            stored.merge(["text": "", "deletedAt": Int(now), "deletedBy": user]) { $1 }
        }
        return replace(place, with: stored, in: id)
    }

    private func edit(_ message: inout Object, _ text: String) {
        let former: Object = ["text": message["text"]!, "at": Int(now)]
        let edits = (message["edits"] as? [Object] ?? []) + [former]
        message["edits"] = Array(edits.suffix(10))
        message["editCount"] = (message["editCount"] as? Int ?? 0) + 1
        message["editedAt"] = Int(now)
        message["text"] = text
    }

    @discardableResult
    mutating func replace(_ place: Int, with message: Object, in id: String) -> Object {
        talks[id]!.version += 1
        talks[id]!.log[place] = message.merging(["version": talks[id]!.version]) { $1 }
        return talks[id]!.log[place]
    }

    func page(of id: String, before: Int?, limit: Int) -> Object {
        let log = talks[id]!.log
        let page = log.filter { $0.number("seq") < before ?? .max }.suffix(limit)
        return ["type": "messages", "conversation": id, "messages": Array(page), "first": 1, "last": log.count]
    }

    // MARK: Subscriptions

    mutating func subscribe(
        _ asked: ClientMessage.Subscribe, _ id: Int64, _ number: Int
    ) throws(Refusal) -> [[UInt8]] {
        let me = peers[number]!.user
        guard asked.conversations.allSatisfy({ talks[$0.string]?.members.contains(me) == true }) else {
            throw .forbidden("this user is not in all of the conversations")
        }
        var parts: [Object] = []
        if asked.conversationList {
            let known = Dictionary(
                uniqueKeysWithValues: asked.knownConversations.map { ($0.key.string, Int($0.value)) })
            let list = conversations(of: me, known)
            peers[number]!.list = known.merging(list.map { ($0.object["id"] as! String, $0.version ?? -1) }) { $1 }
                .filter { $0.value >= 0 }
            parts.append(["conversationList": list.map(\.object)])
        }
        for conversation in asked.conversations {
            parts += follow(conversation.string, asked.messages[conversation], number)
        }
        if asked.notifications { parts += notices[me, default: .init()].parts(of: partLimit) }
        if asked.notifications { peers[number]!.noticed = notices[me, default: .init()].events.count }

        let snapshots = users(asked, by: UserID(me)!, number)
        let first = ServerMessage.subscribed(id: id, users: snapshots, conversations: [], more: !parts.isEmpty)
        return (snapshots.isEmpty && !parts.isEmpty ? [] : [first.encoded()])
            + parts.enumerated().map { place, part in
                var part = part.merging(["type": "subscribed", "id": Int(id), "users": [Object]()]) { $1 }
                if place < parts.count - 1 { part["more"] = true }
                return InMemoryServer.bytes(part)
            }
    }

    /// The registers that the client does not have.
    private mutating func users(
        _ asked: ClientMessage.Subscribe, by me: UserID, _ number: Int
    ) -> [UserSnapshot] {
        asked.users.compactMap { user in
            var view = view(of: user, by: me)
            peers[number]!.watched[user] = view.versions
            let known = asked.known[user]
            if let version = known?.presence, version == view.presence!.version { view.presence = nil }
            if let version = known?.profile, version == view.profile!.version { view.profile = nil }
            return view.presence == nil && view.profile == nil ? nil : view
        }
    }

    private mutating func follow(_ id: String, _ cursor: ClientMessage.MessageCursor?, _ number: Int) -> [Object] {
        let talk = talks[id]!
        peers[number]!.typing[id] = talk.typingVersion
        let typing: Object = [
            "conversation": id, "version": Int(talk.typingVersion), "typing": self.typing(in: id).map(\.string),
        ]
        guard let cursor else { return [["conversations": [typing]]] }
        peers[number]!.follows[id] = talk.version
        let (after, version) = (cursor.after.map { Int($0) }, Int(cursor.messagesVersion ?? 0))
        let isReset = after.map { $0 > talk.log.count || version < talk.forgottenBefore } ?? false
        var news = Array(talk.log.suffix(50))
        if let after, !isReset { news = talk.log.filter { $0.number("seq") > after || $0.number("version") > version } }
        var parts: [Object] = []
        repeat {
            var part = typing.merging(
                [
                    "messagesVersion": talk.version, "messages": Array(news.prefix(partLimit)), "first": 1,
                    "last": talk.log.count,
                ]) { $1 }
            if isReset { part["reset"] = true }
            news = Array(news.dropFirst(partLimit))
            parts.append(["conversations": [part]])
        } while !news.isEmpty
        return parts
    }
}
