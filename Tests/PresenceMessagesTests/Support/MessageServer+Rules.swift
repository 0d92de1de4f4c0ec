@testable import PresenceKit

// Replies by the protocol's rules.
extension MessageServer {
    static func answer(_ asked: Object, _ type: String, _ number: Int, _ state: inout State) -> [Saying] {
        let peer = state.peers[number]!
        let id = asked["id"] as? Int
        let talk = asked["conversation"] as? String ?? ""
        if !talk.isEmpty, type != "typing", state.talks[talk]?.members.contains(peer.user) != true {
            return [(peer, ["type": "error", "id": id ?? 0, "code": "forbidden", "message": "no"])]
        }
        switch type {
        case "connect":
            let user = TokenSubject.user(of: asked["token"] as? String ?? "")?.string ?? peer.user
            state.peers[number]!.user = user
            return [
                (
                    peer,
                    [
                        "type": "connected", "id": id!, "user": user, "session": "s",
                        "serverTime": 1_763_712_000_000,
                        "status": ["status": "auto", "version": 1] as Object,
                    ]
                )
            ]
        case "subscribe": return subscribe(asked, id!, number, &state)
        case "send":
            let message = asked["message"] as! Object
            var sayings: [Saying] = []
            if !state.talks[talk]!.log.contains(where: { $0["id"] as? String == message["id"] as? String }) {
                sayings = store(message, from: peer.user, in: talk, &state)
            }
            let stored = state.talks[talk]!.log.first { $0["id"] as? String == message["id"] as? String }!
            return sayings + [(peer, ["type": "sent", "id": id!, "conversation": talk, "message": stored])]
        case "getMessages":
            let before = asked["before"] as? Int ?? .max
            let page = state.talks[talk]!.log.filter { ($0["seq"] as! Int) < before }.suffix(asked["limit"] as! Int)
            return [
                (
                    peer,
                    [
                        "type": "messages", "id": id!, "conversation": talk, "messages": Array(page), "first": 1,
                        "last": state.talks[talk]!.log.count,
                    ]
                )
            ]
        case "mark":
            mark(peer.user, asked["delivered"] as? Int, asked["read"] as? Int, in: talk, &state)
            return [(peer, ["type": "ok", "id": id!])] + list(talk, state)
        case "editMessage", "deleteMessage", "conversationSettings":
            return change(asked, type, id!, in: talk, peer, &state)
        case "markNotifications", "getNotifications": return notices(asked, type, id!, peer, &state)
        default: return id.map { [(peer, ["type": "ok", "id": $0])] } ?? []
        }
    }

    private static func subscribe(_ asked: Object, _ id: Int, _ number: Int, _ state: inout State) -> [Saying] {
        var answers: [Object] = []
        if asked["conversationList"] != nil {
            state.peers[number]!.lists = true
            let known = asked["known"] as? Object ?? [:]
            let user = state.peers[number]!.user
            let list = state.talks.keys.sorted().filter { state.talks[$0]!.members.contains(user) }
                .map { conversation($0, state, user) }.filter {
                    known[$0["id"] as! String] as? Int != $0["version"] as? Int
                }
            answers.append(["conversationList": list])
        }
        for cursor in asked["conversations"] as? [Object] ?? [] {
            guard let name = cursor["id"] as? String else { continue }
            guard let talk = state.talks[name] else {
                return [(state.peers[number]!, ["type": "error", "id": id, "code": "forbidden", "message": "no"])]
            }
            state.peers[number]!.follows.insert(name)
            let after = cursor["after"] as? Int
            let version = cursor["messagesVersion"] as? Int ?? 0
            let isReset = after.map { $0 > talk.log.count || version < talk.forgottenBefore } ?? false
            var news = talk.log.suffix(50).map { $0 }
            if let after, !isReset {
                news = talk.log.filter { ($0["seq"] as! Int) > after || ($0["version"] as! Int) > version }
            }
            repeat {
                var part: Object = [
                    "conversation": name, "version": 1, "typing": [String](), "messagesVersion": talk.version,
                    "messages": Array(news.prefix(state.partLimit)), "first": 1, "last": talk.log.count,
                ]
                if isReset { part["reset"] = true }
                news = Array(news.dropFirst(state.partLimit))
                answers.append(["conversations": [part]])
            } while !news.isEmpty
        }
        if asked["notifications"] != nil {
            state.peers[number]!.isNotified = true
            answers += state.notices.subscribed(parts: state.partLimit)
        }
        if answers.isEmpty { answers = [[:]] }
        return answers.enumerated().map { place, answer in
            var answer = answer.merging(["type": "subscribed", "id": id, "users": [Object]()]) { $1 }
            if place < answers.count - 1 { answer["more"] = true }
            return (state.peers[number]!, answer)
        }
    }

    static func store(
        _ message: Object, from user: String, in talk: String, _ state: inout State
    ) -> [Saying] {
        state.talks[talk]!.version += 1
        let seq = state.talks[talk]!.log.count + 1
        let stored = message.merging(
            ["seq": seq, "version": state.talks[talk]!.version, "from": user, "at": 1_763_712_000_000 + seq]
        ) { $1 }
        state.talks[talk]!.log.append(stored)
        return publish(stored, in: talk, state) + list(talk, state)
    }

    static func publish(_ message: Object, in talk: String, _ state: State) -> [Saying] {
        state.peers.values.filter { $0.follows.contains(talk) }.map {
            (
                $0,
                [
                    "type": "message", "conversation": talk, "message": message,
                    "conversationVersion": state.talks[talk]!.version, "at": 1,
                ]
            )
        }
    }

    static func mark(_ user: String, _ delivered: Int?, _ read: Int?, in talk: String, _ state: inout State) {
        state.talks[talk]!.delivered[user] = max(
            state.talks[talk]!.delivered[user] ?? 0, delivered ?? 0, read ?? 0)
        state.talks[talk]!.reads[user] = max(state.talks[talk]!.reads[user] ?? 0, read ?? 0)
    }

    static func list(_ talk: String, _ state: State) -> [Saying] {
        state.peers.values.filter(\.lists).map {
            ($0, ["type": "conversation", "conversation": conversation(talk, state, $0.user), "at": 1])
        }
    }

    private static func conversation(_ name: String, _ state: State, _ user: String) -> Object {
        let talk = state.talks[name]!
        let marks = talk.members.reduce(0) { $0 + (talk.reads[$1] ?? 0) + (talk.delivered[$1] ?? 0) }
        let ownNewest = talk.log.last { $0["from"] as? String == user }?["seq"] as? Int ?? 0
        var object: Object = [
            "id": name, "version": talk.version * 1_000 + marks + 1, "kind": "direct", "participants": talk.members,
            "members": talk.members.map {
                ["user": $0, "read": talk.reads[$0] ?? 0, "delivered": talk.delivered[$0] ?? 0] as Object
            }, "createdAt": 1_763_712_000_000, "first": 1, "last": talk.log.count,
            "unread": talk.log.dropFirst(max(talk.reads[user] ?? 0, ownNewest)).count { $0["deletedAt"] == nil },
        ]
        if let last = talk.log.last { object["lastMessage"] = last }
        return object.merging(talk.settings[user] ?? [:]) { $1 }
    }
}
