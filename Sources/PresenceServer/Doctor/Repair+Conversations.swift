import PresenceCore
import PresenceProtocol
import Redis

extension Repair {
    func mendIndex(_ key: String) throws(RedisFailure) {
        guard case .conversation(let id, _) = KeyName(key, in: partitions.space, doctor.families) else { return }
        let keys = partitions.keys(of: id)
        _ = try store[key].run(
            ScriptCall(
                .mendLog,
                [
                    "shards": keys.shards, "floor": keys.floor, "conversation": key, "log": keys.log(id),
                    "changes": keys.changes(id),
                    "prints": keys.prints(id),
                ], ["channel": keys.events, "incarnation": "", "conversation": id]))
    }

    /// Lists the conversation in a member's inbox again.
    func enter(_ id: ConversationID, in user: UserID) throws(RedisFailure) {
        let conversation = partitions.keys(of: id).conversation(id)
        let held = try store[conversation].run(
            "HMGET", conversation, "m:" + user.string, "j:" + user.string, "version", "creator"
        ).array
        guard let held, held.count == 4, !held[0].isNull, held[1].isNull, let version = held[2].int else { return }
        // Groups created by others are counted separately (enroll.lua).
        let isPut = held[3].string.map { $0 != user.string } ?? false
        try change(id, in: user, from: false, to: "in", version, isPut ? " put" : "")
    }

    /// Marks the conversation as left in the inbox of a user who is not a member; it may no longer exist.
    func enterLeft(_ id: ConversationID, in user: UserID) throws(RedisFailure) {
        let conversation = partitions.keys(of: id).conversation(id)
        let held = try store[conversation].run("HMGET", conversation, "m:" + user.string, "j:" + user.string).array
        guard let held, held.count == 2, held[0].isNull, held[1].isNull else { return }
        try change(id, in: user, from: true, to: "out", try store[conversation].now())
    }

    /// - Parameter version: The lowest version to write; the version written is always higher than the one in the inbox.
    private func change(
        _ id: ConversationID, in user: UserID, from isListed: Bool, to word: String, _ version: Int64,
        _ rest: String = ""
    ) throws(RedisFailure) {
        let inbox = partitions.keys(of: user).inbox(user)
        _ = try store[inbox].change(watching: [inbox]) { () throws(RedisFailure) in
            let value = try store[inbox].run("HGET", inbox, id.string).string ?? ""
            guard value.hasPrefix("in ") == isListed else { return nil }
            let before = value.split(separator: " ").dropFirst().first.flatMap { Int64($0) } ?? 0
            return [["HSET", inbox, id.string, "\(word) \(max(version, before + 1))\(rest)"]]
        }
    }
}
