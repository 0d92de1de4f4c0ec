import Expectations
import Foundation
import PresenceKit
import PresenceMessages
import PresenceTesting
import Testing

/// REQUIREMENTS 004: the domain's values and repositories. The numbers are those of the rows.
@Suite(.timeLimit(.minutes(1))) struct DomainStories {
    private let ana: Newcomer
    private var messages: any MessageRepository { ana.app.messages }

    init() async throws {
        ana = try await Newcomer()
        ana.server.add(conversation: "c1", of: [ana.id, "bob"])
    }

    private func seen(_ isWanted: (MessageList) -> Bool) async -> MessageList? {
        for await list in messages.messages(in: "c1") where isWanted(list) { return list }
        return nil
    }

    @Test func `004 17, 22, 77, 110: a message goes from sending to sent, delivered and read`() async throws {
        let message = try await messages.send(Message(conversationId: "c1", senderId: ana.id, text: "Hi"))
        expect(message.status == .sending && UUID(uuidString: message.id) != nil)
        _ = await seen { $0[message.id]?.status == .sent }
        ana.server.mark("bob", delivered: 1, in: "c1")
        _ = await seen { $0[message.id]?.status == .delivered }
        ana.server.mark("bob", read: 1, in: "c1")
        let read = await seen { $0[message.id]?.status == .read }?[message.id]
        expect(read?.readBy == ["bob"] && read?.readCount == 1, "004 31, 32")
        expect(!MessageStatus.read.canTransition(to: .sent) && MessageStatus.sending.canTransition(to: .failed))
    }

    @Test func `004 15, 25 to 27, 36, 81: editMessage appends to the history, which has the newest 10`() async throws {
        let message = try await messages.send(Message(conversationId: "c1", senderId: ana.id, text: "0"))
        _ = await seen { $0[message.id]?.status == .sent }
        var edited = message
        for number in 1...11 { edited = try await messages.editMessage(id: message.id, newText: "\(number)") }
        expect(edited.text == "11" && edited.isEdited && edited.editCount == 11)
        expect(edited.editHistory?.map(\.text), equals: (1...10).map { "\($0)" })
        expect(Message.maxEditHistory, equals: 10)
    }

    @Test func `004 28 to 30, 82: deleteMessage is soft`() async throws {
        let message = try await messages.send(Message(conversationId: "c1", senderId: ana.id, text: "gone"))
        _ = await seen { $0[message.id]?.status == .sent }
        let deleted = try await messages.deleteMessage(id: message.id)
        expect(deleted.isDeleted && deleted.deletedBy == ana.id && deleted.text.isEmpty)
        await expect(seen { $0.count == 1 }?.first?.senderId, equals: ana.id)
    }

    @Test func `004 10 to 14, 24, 33, 34: attachments and a priority with its reason come with a message`() async throws
    {
        var stored: MessageAttachment?
        let file = AttachmentFile(Data("abcd".utf8), name: "beach.jpg")
        for try await upload in messages.upload(file, to: "c1") {
            if case .saved(let attachment) = upload { stored = attachment }
        }
        let attachment = try #require(stored)
        expect(attachment.type == .image && attachment.sizeBytes == 4 && attachment.thumbnailURL != nil)
        try await messages.send(
            Message(
                conversationId: "c1", senderId: ana.id, text: "", attachments: [attachment], isPriority: true,
                priorityReason: "now"))
        let sent = await seen { $0.first?.status == .sent }?.first
        expect(sent?.attachments == [attachment] && sent?.isPriority == true && sent?.priorityReason == "now")
    }

    @Test func `004 78, 79: observed messages are live, and earlier ones come in pages`() async throws {
        for number in 1...60 { ana.server.write("\(number)", from: "bob", in: "c1") }
        let list = await seen { $0.last?.text == "60" }
        expect(list?.first?.text, equals: "11")
        let page = try await messages.getMessages(in: "c1", before: 11, limit: 4)
        expect(page.map(\.text), equals: ["7", "8", "9", "10"])
    }

    @Test func `004 53 to 57, 73, 92, 93: a conversation has its last message and unread counts, until it is read`()
        async throws
    {
        ana.server.write("Hello", from: "bob", in: "c1")
        func conversation(_ isWanted: (ChatConversation) -> Bool) async -> ChatConversation? {
            for await list in messages.conversationList {
                if let found = list.first(where: { $0.id == "c1" }), isWanted(found) { return found }
            }
            return nil
        }
        let unread = await conversation { $0.unreadCount == 1 }
        expect(unread?.lastMessage?.text == "Hello" && unread?.lastMessageSenderId == "bob")
        expect(unread?.lastMessageId == unread?.lastMessage?.id && unread?.lastMessageTimestamp != nil)
        expect(unread?.unreadCounts[ana.id], equals: 1)
        await messages.markRead(in: "c1", upTo: nil)
        await expect(conversation { $0.unreadCount == 0 }?.unreadCount(for: ana.id), equals: 0)
    }

    @Test func `004 60, 61, 74, 75, 88 to 91, 113: a group has a name or its members' names, and room for ten`()
        async throws
    {
        let group = try await messages.createGroup(with: ["bob", "cy"], name: nil, metadata: nil, key: "k")
        expect(group.isGroup && group.canAddParticipant())
        expect(group.displayName(for: ana.id, names: ["bob": "Bob"]), equals: "Bob, Unknown")
        let many = (1...10).map { "u\($0)" }
        let error = await Newcomer.error {
            try await messages.createGroup(with: many, name: nil, metadata: nil, key: "m")
        }
        expect(error?.code, equals: .tooMany)
        let full = ChatConversation(id: "f", kind: .group, participants: many)
        expect(!full.canAddParticipant())
    }

    @Test func `004 67 to 70: a conversation is muted until a time, and archived`() async throws {
        try await messages.mute("c1", for: .seconds(3_600))
        try await messages.archive("c1", true)
        let conversation = try await messages.conversation("c1")
        expect(conversation.isMuted && conversation.mutedUntil != nil)
        expect(conversation.isArchived && conversation.archivedAt != nil)
    }

    @Test func `004 49, 87, 103, 105: a user has initials, is online or not as set, and comes back from JSON`()
        async throws
    {
        expect(User(id: "u", displayName: "Jane van Doe").displayInitials, equals: "JD")
        expect(User(id: "u", displayName: "Ana").displayInitials, equals: "AN")
        let users: any UserRepository = ana.app.client
        let bob = ana.server.client(as: "bob")
        var online = bob.onlineUpdates(of: ana.id).makeAsyncIterator()
        while await online.next() != true {}
        try await users.setOnline(false)
        while await online.next() != false {}
        let user = try await ana.user
        try expect(JSONDecoder().decode(User.self, from: JSONEncoder().encode(user)), equals: user)
        expect(user.schemaVersion == User.currentSchemaVersion && user.fcmToken == nil)
    }

    @Test func `004 94 to 99: the session is observed, from the sign-up to the sign-out`() async throws {
        var states = ana.app.account.states.makeAsyncIterator()
        var state = await states.next()
        while state?.account?.id != ana.id { state = await states.next() }
        await expect(ana.app.account.currentAccount?.email, equals: "ana.b@example.org")
        try await ana.app.account.signOut()
        while state != .signedOut(.requested) { state = await states.next() }
        await expect(ana.app.account.currentAccount, equals: nil)
    }
}
