import Expectations
import PresenceProtocol
import Testing

struct SnapshotReplyTests {
    private let presence = Presence(version: 9, status: .online, since: 8, devices: [.web]).encoded()

    /// The content of all parts together; checks that each except the last has `more`.
    private func joined(_ parts: [[UInt8]]) throws -> (users: [UserSnapshot], conversations: [ConversationID]) {
        var users: [UserSnapshot] = []
        var conversations: [ConversationID] = []
        for (index, part) in parts.enumerated() {
            let hasMore: Bool
            switch try ServerMessage.decode(part) {
            case .subscribed(let id, let some, let others, let more):
                expect(id, equals: 7)
                // Users come first.
                expect(some.isEmpty || conversations.isEmpty)
                users += some
                conversations += others.map(\.conversation)
                hasMore = more
            case .users(let id, let some, let more):
                expect(id, equals: 7)
                users += some
                hasMore = more
            default:
                Issue.record("another message")
                continue
            }
            expect(hasMore, equals: index < parts.count - 1)
        }
        return (users, conversations)
    }

    @Test func `a reply without users is one message with an empty list`() {
        let kinds: [(SnapshotReply.Kind, String)] = [
            (.subscribed, #"{"type":"subscribed","id":7,"users":[]}"#),
            (.users, #"{"type":"users","id":7,"users":[]}"#),
        ]
        for (kind, json) in kinds {
            expect(SnapshotReply(kind, id: 7, limit: 1000).finish().map { String(json: $0) }, equals: [json])
        }
        expect(
            SnapshotReply(.users, id: nil, limit: 1000).finish().map { String(json: $0) },
            equals: [#"{"type":"users","users":[]}"#])
    }

    @Test func `messages come beside a list of people, in each part`() {
        for (limit, joint) in [
            (1_000, ","), (170, #"],"more":true}{"type":"subscribed","id":7,"users":[],"conversations":["#),
        ] {
            var reply = SnapshotReply(.subscribed, id: 7, limit: limit)
            reply.beginMessages()
            reply.add(ServerMessage.ConversationSnapshot(conversation: id("c3"), version: 7, typing: []))
            reply.add(conversation: Array(#"{"conversation":"c1","messages":[]}"#.utf8))
            expect(
                reply.finish().map { String(json: $0) }.joined(),
                equals: #"{"type":"subscribed","id":7,"users":[],"conversations":["#
                    + #"{"conversation":"c3","version":7,"typing":[]}\#(joint){"conversation":"c1","messages":[]}]}"#)
        }
    }

    @Test func `a short answer is one message, the same as one encoded whole`() {
        var reply = SnapshotReply(.subscribed, id: 7, limit: 1000)
        reply.add(user: id("bob"), presence: presence, profile: ServerMessageWriter.noProfile)
        reply.add(user: id("cy"), presence: nil, profile: Profile(version: 3).encoded())
        let conversation = ServerMessage.ConversationSnapshot(conversation: id("c1"), version: 7, typing: ids("bob"))
        reply.add(conversation)
        let whole = ServerMessage.subscribed(
            id: 7,
            users: [
                UserSnapshot(
                    user: id("bob"), presence: Presence(version: 9, status: .online, since: 8, devices: [.web]),
                    profile: ProfileRegister.none),
                UserSnapshot(user: id("cy"), presence: nil, profile: .profile(Profile(version: 3))),
            ], conversations: [conversation], more: false)
        expect(reply.finish(), equals: [whole.encoded()])
    }

    @Test func `conversations alone come without users`() {
        var reply = SnapshotReply(.subscribed, id: 5, limit: 1000)
        reply.add(ServerMessage.ConversationSnapshot(conversation: id("c1"), version: 7, typing: ids("bob")))
        expect(
            String(json: reply.finish()[0]),
            equals:
                #"{"type":"subscribed","id":5,"conversations":[{"conversation":"c1","version":7,"typing":["bob"]}]}"#)
    }

    @Test func `a long answer is split at every limit into parts that keep to it and lose nothing`() throws {
        for limit in 200..<700 {
            var reply = SnapshotReply(.subscribed, id: 7, limit: limit)
            let people = (0..<20).map { id("user-\($0)") }
            let conversations = (0..<10).map { id("conversation-\($0)") }
            for person in people {
                reply.add(user: person, presence: presence, profile: ServerMessageWriter.noProfile)
            }
            for conversation in conversations {
                reply.add(
                    ServerMessage.ConversationSnapshot(conversation: conversation, version: 1, typing: people.suffix(2))
                )
            }
            let parts = reply.finish()
            expect(parts.allSatisfy { $0.count <= limit }, "limit \(limit)")
            expect(parts.count > 3)
            let all = try joined(parts)
            expect(all.users.map(\.user), equals: people)
            expect(all.conversations, equals: conversations)
        }
    }

    @Test func `an entry longer than the limit makes a part of its own`() throws {
        var reply = SnapshotReply(.users, id: 7, limit: 100)
        let long = Presence(version: 1, status: .away, text: String(repeating: "x", count: 200)).encoded()
        for name in ["a", "b", "c"] { reply.add(user: id(name), presence: name == "b" ? long : presence, profile: nil) }
        let parts = reply.finish()
        expect(parts.count, equals: 3)
        try expect(joined(parts).users.map(\.user), equals: ids("a", "b", "c"))
    }

    @Test func `bytes that are lent are taken as those that are given`() {
        var given = SnapshotReply(.users, id: 7, limit: 1000)
        given.add(user: id("bob"), presence: presence, profile: nil)
        var lent = SnapshotReply(.users, id: 7, limit: 1000)
        presence.withUnsafeBytes { lent.add(user: id("bob"), presence: $0, profile: nil) }
        var made = SnapshotReply(.users, id: 7, limit: 1000)
        made.add(
            UserSnapshot(
                user: id("bob"), presence: Presence(version: 9, status: .online, since: 8, devices: [.web]),
                profile: nil))
        let bytes = given.finish()
        expect(lent.finish(), equals: bytes)
        expect(made.finish(), equals: bytes)
    }

    @Test func `notifications are split into parts that each have the totals`() throws {
        let head = Array(#"{"version":9,"unseen":3"#.utf8)
        for limit in 150..<600 {
            var reply = SnapshotReply(.subscribed, id: 7, limit: limit)
            reply.add(user: id("bob"), presence: presence, profile: ServerMessageWriter.noProfile)
            reply.begin(notifications: head)
            for seq in 1...9 { reply.add(notification: Array(#"{"seq":\#(seq),"title":"T"}"#.utf8)) }
            let parts = reply.finish().map { String(json: $0) }
            expect(parts.dropFirst().allSatisfy { $0.utf8.count <= limit }, "limit \(limit)")
            expect(parts.dropLast().allSatisfy { $0.hasSuffix(#","more":true}"#) })
            let items = parts.flatMap { $0.split(separator: #""items":["#).dropFirst() }
            expect(items.allSatisfy { $0.contains("]}") })
            let seqs = parts.joined().split(separator: #"{"seq":"#).dropFirst().compactMap {
                $0.first?.wholeNumberValue
            }
            expect(seqs, equals: Array(1...9))
            for part in parts { #expect(throws: Never.self) { try ServerMessage.decode(Array(part.utf8)) } }
        }
        var none = SnapshotReply(.subscribed, id: 7, limit: 1000)
        none.begin(notifications: head)
        expect(
            none.finish().map { String(json: $0) },
            equals: [
                #"{"type":"subscribed","id":7,"users":[],"notifications":{"version":9,"unseen":3,"items":[]}}"#
            ])
    }
}
