import Foundation

// Changes of messages and settings; repeating one has no effect.
extension MessageServer {
    static func change(
        _ asked: Object, _ type: String, _ id: Int, in talk: String, _ peer: Peer, _ state: inout State
    ) -> [Saying] {
        func refusal(_ code: String) -> [Saying] {
            [(peer, ["type": "error", "id": id, "code": code, "message": "no"])]
        }
        if type == "conversationSettings" {
            set(asked, of: peer.user, in: talk, &state)
            return [(peer, ["type": "ok", "id": id])] + list(talk, state)
        }
        let message = asked["message"] as! String
        guard let place = state.talks[talk]!.log.firstIndex(where: { $0["id"] as? String == message }) else {
            return refusal("not_found")
        }
        var stored = state.talks[talk]!.log[place]
        let isDeleted = stored["deletedAt"] != nil
        if type == "editMessage", isDeleted { return refusal("conflict") }
        let isNews = type == "editMessage" ? stored["text"] as? String != asked["text"] as? String : !isDeleted
        if isNews {
            state.talks[talk]!.version += 1
            stored["version"] = state.talks[talk]!.version
            if type == "editMessage" { edit(&stored, asked["text"] as! String) } else { delete(&stored, by: peer.user) }
            state.talks[talk]!.log[place] = stored
        }
        let answer: Object = ["type": "messageUpdated", "id": id, "conversation": talk, "message": stored]
        let news = isNews ? publish(stored, in: talk, state) + list(talk, state) : []
        return news + [(peer, answer)]
    }

    private static func edit(_ message: inout Object, _ text: String) {
        let former: Object = ["text": message["text"]!, "at": 1]
        let edits = (message["edits"] as? [Object] ?? []) + [former]
        message["edits"] = Array(edits.suffix(10))
        message["editCount"] = (message["editCount"] as? Int ?? 0) + 1
        message["editedAt"] = 1_763_712_000_000
        message["text"] = text
    }

    private static func delete(_ message: inout Object, by user: String) {
        message.removeValue(forKey: "edits")
        message.merge(["text": "", "deletedAt": 1_763_712_000_000, "deletedBy": user]) { $1 }
    }

    private static func set(_ asked: Object, of user: String, in talk: String, _ state: inout State) {
        var settings = state.talks[talk]!.settings[user] ?? [:]
        if let isMuted = asked["muted"].flatMap(flag) {
            settings = settings.filter { !$0.key.hasPrefix("muted") }
            if isMuted { settings["muted"] = true }
            if let length = asked["muteFor"] as? Int {
                settings["mutedUntil"] = Int(Date().timeIntervalSince1970 * 1_000) + length
            }
        }
        if let isArchived = asked["archived"].flatMap(flag) {
            settings = settings.filter { !$0.key.hasPrefix("archived") }
            if isArchived { settings.merge(["archived": true, "archivedAt": 1_763_712_000_000]) { $1 } }
        }
        state.talks[talk]!.settings[user] = settings
        state.talks[talk]!.version += 1
    }

    private static func flag(_ value: any Sendable) -> Bool? {
        (value as? Bool) ?? (value as? Int).map { $0 != 0 } ?? (value as? String).map { $0 == "true" }
    }
}
