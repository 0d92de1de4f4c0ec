import Expectations
import PresenceProtocol
import Redis
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Groups as backends create them, many at a time, and their pending work.
extension World {
    private var partitions: Partitions { shards[0].logic.partitions }

    /// Creates a group that is in no inbox yet, as left by a server that dies at once.
    func leaveGroup(_ id: String, of users: [String]) throws {
        let talk = ConversationID(id)!
        let keys = partitions.keys(of: talk)
        let answer = redis.run(
            .participants, keys: [keys.shards, keys.floor] + keys.whole(talk).map(\.value),
            arguments: [String(redisNow), keys.events, shards[0].logic.link.incarnation, "joining \(id)", id] + users)
        try expect(answer.get().array?.first?.string, equals: "OK")
    }

    /// Groups that are in the inboxes of all their members.
    func groups(_ count: Int, of users: [String]) throws -> [ConversationID] {
        let pauses = shards.map(\.logic.intents.pause)
        for shard in shards { shard.logic.intents.pause = 100 }
        try run(for: 10_500)
        let ids = (0..<count).map { "group-\($0)" }
        for id in ids { try leaveGroup(id, of: users) }
        try wait(until: "all inboxes are told", within: 300_000) { try unfinished().isEmpty }
        for (shard, pause) in zip(shards, pauses) { shard.logic.intents.pause = pause }
        try run(for: 1_000)
        return ids.map { ConversationID($0)! }
    }

    /// Runs until a condition holds that has to be read from Redis, which takes longer than reading shards and clients.
    func wait(until what: String, within patience: Milliseconds, _ isSo: () throws -> Bool) throws {
        let end = now + patience
        while try !isSo() {
            guard now < end else { throw Impatience(what: what) }
            try run(for: 50)
        }
    }

    /// The open intents of all partitions.
    func unfinished() throws -> [String] {
        try (0..<configuration.partitions).flatMap {
            try redis.ask(["SMEMBERS", partitions.keys($0).unfinished]).get().array?.compactMap(\.string) ?? []
        }.sorted()
    }

    /// A member's record in the conversation; empty for other users.
    func member(_ user: String, of id: ConversationID) -> [Substring] {
        let answer = redis.ask(["HGET", partitions.keys(of: id).conversation(id), "m:" + user])
        return (try? answer.get())?.string?.split(separator: " ") ?? []
    }

    /// Replaces a conversation's or inbox's record with an unreadable one.
    func damage(conversation id: ConversationID) throws { try damage(partitions.keys(of: id).conversation(id)) }
    func damage(inboxOf user: String) throws { try damage(partitions.keys(of: UserID(user)!).inbox(UserID(user)!)) }

    private func damage(_ key: String) throws {
        _ = try redis.ask(["DEL", key]).get()
        _ = try redis.ask(["SET", key, "x"]).get()
    }

    /// Removes the damaged record, as the doctor or its operator does.
    func remove(conversation id: ConversationID) throws {
        _ = try redis.ask(["DEL", partitions.keys(of: id).conversation(id)]).get()
    }

    func inbox(of user: String) throws -> [String: String] {
        let key = partitions.keys(of: UserID(user)!).inbox(UserID(user)!)
        let words = try redis.ask(["HGETALL", key]).get().array?.compactMap(\.string) ?? []
        return Dictionary(
            uniqueKeysWithValues: stride(from: 0, to: words.count - 1, by: 2).map { (words[$0], words[$0 + 1]) })
    }
}
