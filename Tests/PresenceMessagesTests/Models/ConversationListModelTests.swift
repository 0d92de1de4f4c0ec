import Expectations
import Foundation
import PresenceKit
import PresenceMessages
import PresenceTesting
import Testing

/// The list of conversations on a screen, with a server in memory.
@MainActor @Suite(.timeLimit(.minutes(1))) struct ConversationListModelTests {
    private let scene = ModelScene()
    private var server: InMemoryServer { scene.server }

    init() { server.add(conversation: "g1", of: ["ana", "bob", "cy"], name: "Trip") }

    private func following(_ body: (ConversationListModel) async throws -> Void) async rethrows {
        let model = ConversationListModel(
            user: "ana", messages: scene.messages, now: { .inTests + 60 }, name: { $0.capitalized })
        let run = Task { await model.run() }
        defer { run.cancel() }
        await until { model.isLoaded }
        try await body(model)
    }

    @Test func `the newest conversation is first, with title, preview and unread messages`() async {
        await following { model in
            server.write("Hello", from: "bob", in: "c1")
            await until { model.conversations.map(\.id) == ["c1", "g1"] }
            server.write("Where?", from: "cy", in: "g1")
            await until { model.conversations.map(\.id) == ["g1", "c1"] }
            expect(model.conversations.map { model.title(of: $0) }, equals: ["Trip", "Bob"])
            expect(model.conversations.map { model.preview(of: $0) }, equals: ["Cy: Where?", "Hello"])
            expect(model.unreadCount, equals: 2)
            await model.markRead(model.conversations[0])
            await until { model.unreadCount == 1 }
        }
    }

    @Test func `a preview names messages without a text`() {
        let model = ConversationListModel(user: "ana", messages: scene.messages)
        var conversation = ChatConversation(id: "c", kind: .direct, participants: ["ana", "bob"])
        expect(model.preview(of: conversation), equals: "")
        let picture = MessageAttachment(type: .image, url: "https://example.org/a", sizeBytes: 1)
        for (attachments, text) in [([picture], "You: Photo"), ([picture, picture], "You: 2 attachments")] {
            conversation.lastMessage = Message(
                conversationId: "c", senderId: "ana", text: "", attachments: attachments)
            expect(model.preview(of: conversation), equals: text)
        }
        conversation.lastMessage?.delete(by: "ana", at: .inTests)
        expect(model.preview(of: conversation), equals: "Message deleted")
    }

    @Test func `muted and archived conversations do not count; a mute ends by itself`() async throws {
        try await following { model in
            for id in ["c1", "g1"] { server.write("x", from: "bob", in: id) }
            await until { model.unreadCount == 2 }
            let c1 = try #require(model.conversations.first { $0.id == "c1" })
            await model.mute(c1, for: .seconds(3_600))
            await until { model.unreadCount == 1 && model.isMuted(model.conversations.first { $0.id == "c1" }!) }
            await model.mute(c1, for: .seconds(1))
            await until { model.unreadCount == 2 }
            expect(model.conversations.allSatisfy { !model.isMuted($0) }, "that was over a minute ago")
            await model.unmute(c1)
            await model.archive(c1)
            await until { model.unreadCount == 1 && model.archived.map(\.id) == ["c1"] }
            await model.archive(c1, false)
            await until { model.conversations.count == 2 && model.archived.isEmpty }
        }
    }

    @Test func `conversations are opened, created, renamed and left`() async throws {
        try await following { model in
            let direct = await model.open(with: "bob")
            expect(direct?.id, equals: "c1")
            let group = try #require(await model.createGroup(with: ["dan", "eve"], name: "Work"))
            expect(group.owner == "ana" && group.participants == ["ana", "dan", "eve"])
            await model.rename(group, to: "Play")
            await until { model.conversations.contains { $0.groupName == "Play" } }
            await model.leave(group)
            await until { !model.conversations.contains { $0.id == group.id } }
        }
    }

    @Test func `a failed action shows the reason, and the next one clears it`() async throws {
        try await following { model in
            await model.rename(try #require(model.conversations.first { $0.id == "c1" }), to: "Bobby")
            expect(model.errorMessage == "You are not allowed to do that." && !model.isBusy)
            await scene.goOffline()
            await expect(model.open(with: "cy"), equals: nil)
            expect(model.errorMessage, equals: "There is no connection to the server.")
            await scene.goOnline()
            await expect(model.open(with: "cy") != nil && model.errorMessage == nil)
        }
    }
}
