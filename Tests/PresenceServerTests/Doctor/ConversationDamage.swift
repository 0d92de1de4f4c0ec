import PresenceProtocol
import Redis

@testable import PresenceCore
@testable import PresenceServer

extension Installation {
    private static let talk = ConversationID("talk")!
    private var home: PartitionKeys { partitions.keys(of: Self.talk) }
    fileprivate var conversation: String { home.conversation(Self.talk) }
    fileprivate var log: String { home.log(Self.talk) }
    fileprivate var prints: String { home.prints(Self.talk) }
    fileprivate var changes: String { home.changes(Self.talk) }
    fileprivate func inbox(_ user: String) -> String { keys(user).inbox(UserID(user)!) }

    /// A conversation of two users with five messages, one of them edited and one deleted; both inboxes are up to date.
    fileprivate func talk() throws {
        let id = Self.talk
        let members = ["ana", "bob"]
        try run(
            .participants, [home.shards, home.floor] + home.whole(id).map(\.value),
            [home.events, live, "joining talk", id.string] + members)
        for user in members {
            try set(inbox(user), id.string, "in 5")
            try redis.command("HDEL", .string(conversation), .string("j:" + user))
        }
        try redis.command("SREM", .string(home.unfinished), "joining talk")
        let keys = [home.shards, home.floor] + home.written(id).map(\.value)
        let textKeys = [home.shards, home.floor] + home.written(id, verdict: nil).map(\.value)
        for number in 1...5 {
            try run(
                .send, textKeys,
                [
                    home.events, live, id.string, "ana", "m\(number)", "\"text \(number)\"", "", "", "10000", "0", "0",
                    "100000", "0", "",
                ])
        }
        try run(
            .editMessage, textKeys,
            [home.events, live, id.string, "ana", "m2", "\"other\"", "10000", "0", "100000", "0", ""])
        try run(.deleteMessage, keys, [home.events, live, id.string, "ana", "m4", "10000"])
    }
}

extension Damage {
    private static func ofTalk(
        _ name: String, _ kinds: Set<DoctorFinding.Kind>, _ make: @escaping @Sendable (Installation) throws -> Void
    ) -> Damage {
        Damage(name, kinds) {
            try $0.talk()
            let before = try $0.doctor().examine()
            guard before.isHealthy else { throw Unhealthy(report: before.text) }
            try make($0)
        }
    }

    private struct Unhealthy: Error { let report: String }

    static let ofConversations: [Damage] = [
        ofTalk("messages whose index is gone", [.brokenIndex]) { try $0.redis.command("DEL", .string($0.prints)) },
        ofTalk("an index with an entry too many", [.brokenIndex]) {
            try $0.redis.command("SETRANGE", .string($0.prints), "40", "eightmor")
        },
        ofTalk("a list of changes that is gone", [.brokenIndex]) { try $0.redis.command("DEL", .string($0.changes)) },
        ofTalk("an inbox that lacks a conversation", [.unlistedConversation]) {
            try $0.redis.command("HDEL", .string($0.inbox("bob")), "talk")
        },
        ofTalk("an inbox that is gone", [.unlistedConversation]) {
            try $0.redis.command("DEL", .string($0.inbox("bob")))
        },
        ofTalk("an inbox that says its user has left", [.unlistedConversation]) {
            try $0.set($0.inbox("bob"), "talk", "out 9")
        },
        ofTalk("a conversation that is gone", [.lostConversation]) {
            for key in [$0.conversation, $0.log, $0.prints, $0.changes] { try $0.redis.command("DEL", .string(key)) }
        },
        ofTalk("a conversation whose member is gone", [.lostConversation]) {
            try $0.redis.command("HDEL", .string($0.conversation), "m:bob")
        },
    ]

    static let ofConversationsBeyondRepair: [Damage] = [
        ofTalk("a member whose marks cannot be read", [.malformedConversation]) {
            try $0.set($0.conversation, "m:bob", "x")
        },
        ofTalk("a last message that is no number", [.malformedConversation]) {
            try $0.set($0.conversation, "last", "x")
        },
        ofTalk("a newest message that cannot be read", [.malformedConversation]) {
            try $0.set($0.conversation, "message", "x")
        },
        ofTalk("messages that have gone from the end", [.lostMessages]) {
            try $0.redis.command("LTRIM", .string($0.log), "0", "1")
        },
        ofTalk("messages that have gone from the beginning", [.lostMessages]) {
            try $0.redis.command("LTRIM", .string($0.log), "2", "-1")
        },
        ofTalk("messages that are all gone", [.lostMessages]) { try $0.redis.command("DEL", .string($0.log)) },
    ]
}
