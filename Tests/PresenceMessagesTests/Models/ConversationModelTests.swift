import Expectations
import PresenceKit
import PresenceMessages
import PresenceTesting
import Testing

/// A conversation on a screen, with a server in memory.
@MainActor @Suite(.timeLimit(.minutes(1))) struct ConversationModelTests {
    private let scene = ModelScene()
    private let clock = TestClock()
    private let model: ConversationModel
    private var server: InMemoryServer { scene.server }

    init() async {
        await scene.connected()
        scene.server.add(conversation: "g1", of: ["bob", "ana", "cy"])
        scene.server.add(conversation: "g2", of: ["ana", "bob", "cy"])
        model = Self.model("c1", scene, clock)
    }

    private static func model(_ id: String, _ scene: ModelScene, _ clock: TestClock) -> ConversationModel {
        ConversationModel(
            conversation: id, user: "ana", messages: scene.messages, typing: scene.client, clock: clock
        ) { $0.capitalized }
    }

    private func typings() -> [Bool] { server.requests("typing").compactMap { $0["typing"] as? Bool } }

    /// Waits until all messages are sent.
    private func sent(_ model: ConversationModel) async {
        await until { !model.messages.isEmpty && model.messages.allSatisfy { $0.sequence != nil } }
    }

    /// Runs the model while the body runs.
    private func following(_ model: ConversationModel, _ body: () async throws -> Void) async rethrows {
        let run = Task { await model.run() }
        defer { run.cancel() }
        await until { model.conversation != nil }
        try await body()
    }

    private func write(_ text: String) async {
        model.text = text
        await model.send()
    }

    @Test func `messages appear as they are written, with title, sender and status`() async {
        await following(model) {
            expect(model.title, equals: "Bob")
            server.write("Hello", from: "bob", in: "c1")
            await write("Hi!")
            await until { model.messages.map(\.text) == ["Hello", "Hi!"] }
            await sent(model)
            expect(model.messages.map { model.sender(of: $0) }, equals: ["Bob", "Ana"])
            expect(model.messages.map { model.statusText(of: $0) }, equals: [nil, "Sent"])
            server.mark("bob", delivered: 2, in: "c1")
            await until { model.messages.last.flatMap { model.statusText(of: $0) } == "Delivered" }
            server.mark("bob", read: 2, in: "c1")
            await until { model.messages.last.flatMap { model.statusText(of: $0) } == "Read" }
        }
    }

    @Test func `a message is marked as urgent, with a reason or without, and the next one is not`() async {
        await following(model) {
            model.isPriority = true
            model.priorityReason = "  " + String(repeating: "x", count: 300)
            expect(model.priorityReason.count, equals: 200)
            await write("one")
            expect(!model.isPriority && model.priorityReason.isEmpty)
            model.isPriority = true
            await write("two")
            model.priorityReason = "not urgent after all"
            await write("three")
            await until { model.messages.count == 3 }
            expect(model.messages.map(\.isPriority), equals: [true, true, false])
            expect(model.messages.map(\.priorityReason?.count), equals: [198, nil, nil])
        }
    }

    @Test func `a message that cannot be sent keeps its priority`() async {
        await following(model) {
            model.isPriority = true
            model.priorityReason = "now"
            await scene.writes.set(mayAppend: false)
            await write("one")
            expect(model.text == "one" && model.isPriority && model.priorityReason == "now")
            await scene.writes.set()
            await model.send()
            await until { model.messages.map(\.priorityReason) == ["now"] }
        }
    }

    @Test func `in a group it says how many have read`() async {
        let model = Self.model("g1", scene, clock)
        await following(model) {
            expect(model.title, equals: "Bob, Cy")
            model.text = "all"
            await model.send()
            await sent(model)
            server.mark("bob", read: 1, in: "g1")
            server.mark("cy", delivered: 1, in: "g1")
            await until { model.messages.last.flatMap { model.statusText(of: $0) } == "Read by 1" }
            server.write("mine", from: "bob", in: "g1")
            await until { model.messages.count == 2 }
            expect(!model.canEdit(model.messages[1]) && !model.canDelete(model.messages[1]), "bob's, who owns it")
        }
    }

    @Test func `the owner of a group can delete any message`() async {
        let model = Self.model("g2", scene, clock)
        await following(model) {
            server.write("rude", from: "cy", in: "g2")
            await until { model.messages.count == 1 }
            expect(model.canDelete(model.messages[0]))
            await model.delete(model.messages[0])
            await until { model.messages[0].isDeleted && model.messages[0].deletedBy == "ana" }
        }
    }

    @Test func `without a connection a message waits at the end, and is sent once there is one`() async {
        await following(model) {
            await scene.goOffline()
            await write("one")
            await write("two")
            await until { model.messages.map { model.statusText(of: $0) } == ["Sending…", "Sending…"] }
            expect(model.text.isEmpty && model.errorMessage == nil)
            server.goOnline()
            await until { model.messages.map { model.statusText(of: $0) } == ["Sent", "Sent"] }
            expect(server.texts(in: "c1"), equals: ["one", "two"])
        }
    }

    @Test func `a rejected message shows the reason, and is sent again or discarded`() async {
        await following(model) {
            server.fail("send")
            server.fail("send")
            await write("one")
            await write("two")
            await until { model.messages.map(\.status) == [.failed, .failed] }
            let refused = "Not sent: You are not allowed to do that."
            expect(model.messages.map { model.statusText(of: $0) }, equals: [refused, refused])
            await model.retry(model.messages[0])
            await model.discard(model.messages[1])
            await until { model.messages.map(\.status) == [.sent] }
            expect(server.texts(in: "c1"), equals: ["one"])
        }
    }

    @Test func `a message that cannot be stored is restored to the field, unless it has another text`() async {
        await following(model) {
            await scene.writes.set(mayAppend: false)
            await write("precious")
            expect(model.text == "precious" && model.errorMessage == "The change could not be kept on this device.")
            await scene.writes.set(mayAppend: false, delay: .seconds(1))
            let sending = Task { await model.send() }
            await scene.writes.clock.sleepers()
            model.text = "next"
            scene.writes.clock.advance(by: .seconds(1))
            await sending.value
            expect(model.text == "next" && model.errorMessage != nil)
        }
    }

    @Test func `an empty text is not sent, and one that is too long shows an error while it is written`() async {
        for text in ["", "  \n"] {
            model.text = text
            expect(!model.canSend && model.textError == nil)
            await model.send()
        }
        model.text = String(repeating: "x", count: 5_001)
        expect(!model.canSend && model.textError == "A message must be 5000 characters or less")
        await model.send()
        await expect(scene.writes.tried.isEmpty)
        model.text = " trimmed\n"
        await model.send()
        await server.received("send")
        expect(server.texts(in: "c1"), equals: ["trimmed"])
    }

    @Test func `a text is edited in the field, and the draft is restored afterwards`() async throws {
        try await following(model) {
            await write("On my wya")
            await sent(model)
            model.text = "a draft"
            let message = try #require(model.messages.first)
            model.beginEditing(message)
            expect(model.text == "On my wya" && !model.canSend, "nothing is changed yet")
            model.text = "On my way"
            await model.send()
            await until { model.messages.first?.text == "On my way" }
            expect(model.messages[0].isEdited && model.editing == nil && model.text == "a draft")

            await scene.writes.set(mayAppend: false)
            model.beginEditing(model.messages[0])
            model.text = "Nearly there"
            await model.send()
            expect(model.editing != nil && model.text == "Nearly there" && model.errorMessage != nil)
            model.cancelEditing()
            expect(model.text, equals: "a draft")
        }
    }

    @Test func `a change without a connection is shown and sent later, and a rejection can be handled`()
        async
    {
        await following(model) {
            for text in ["one", "two", "three"] { await write(text) }
            await until { model.messages.count == 3 }
            await sent(model)
            await scene.goOffline()
            model.beginEditing(model.messages[0])
            model.text = "ONE"
            await model.send()
            await model.delete(model.messages[1])
            await until { model.messages.map(\.hasPendingChange) == [true, true, false] }
            expect(model.editing == nil && model.messages[0].text == "ONE" && model.messages[1].isDeleted)
            expect(server.texts(in: "c1") == ["one", "two", "three"] && model.errorMessage == nil)

            server.fail("editMessage")
            server.goOnline()
            await until { model.messages.map(\.text) == ["one", "", "three"] && model.refusedChanges.count == 1 }
            expect(model.refusedChanges.first?.failure?.code, equals: .forbidden)
            await model.retry(model.refusedChanges[0])
            await until { model.messages.first?.text == "ONE" && model.refusedChanges.isEmpty }
            expect(model.messages.first?.editCount, equals: 1)
        }
    }

    @Test func `editing ends when the message is deleted elsewhere`() async throws {
        try await following(model) {
            await write("gone soon")
            await sent(model)
            model.beginEditing(model.messages[0])
            try await scene.messages.delete(model.messages[0])
            await until { model.editing == nil && model.messages[0].isDeleted }
            expect(model.text.isEmpty && model.statusText(of: model.messages[0]) == nil)
            model.beginEditing(model.messages[0])
            await model.delete(model.messages[0])
            expect(model.editing == nil && server.requests("deleteMessage").count == 1)
        }
    }

    @Test func `only visible messages are marked as read`() async throws {
        await following(model) {
            server.write("one", from: "bob", in: "c1")
            await until { model.messages.count == 1 && model.conversation?.unreadCount == 1 }
            model.isVisible = true
            await until { model.conversation?.unreadCount == 0 }
            server.write("two", from: "bob", in: "c1")
            // The list has the message a moment after the conversation does. Marks of delivery have no `read`.
            while !server.requests("mark").contains(where: { $0["read"] as? Int == 2 }), !Task.isCancelled {
                await Task.yield()
            }
            await until { model.messages.count == 2 && model.conversation?.unreadCount == 0 }
            model.isVisible = false
            server.write("three", from: "bob", in: "c1")
            await until { model.messages.count == 3 && model.conversation?.unreadCount == 1 }
            let marks = server.requests("mark").compactMap { $0["read"] as? Int }
            expect(marks, equals: [1, 2])
        }
    }

    @Test func `earlier pages are loaded on demand, one at a time`() async {
        for number in 1...75 { server.write("\(number)", from: "bob", in: "c1") }
        await following(model) {
            await until { model.messages.count == 50 && model.hasEarlier }
            server.hold()
            let loading = Task { await model.loadEarlier(limit: 20) }
            await server.received("getMessages")
            expect(model.isLoadingEarlier)
            await model.loadEarlier(limit: 20)
            server.release()
            await loading.value
            await until { model.messages.first?.text == "6" }
            expect(model.hasEarlier && !model.isLoadingEarlier)
            await model.loadEarlier()
            await until { model.messages.count == 75 && !model.hasEarlier }
            await model.loadEarlier()
            expect(server.requests("getMessages").count, equals: 2)
        }
    }

    @Test func `others see the user typing until the message is sent, but not during an edit`() async {
        await following(model) {
            model.text = "H"
            await server.received("typing")
            expect(typings(), equals: [true])
            await write("Hello")
            await server.received("typing", count: 2)
            expect(typings(), equals: [true, false])
            await sent(model)
            model.beginEditing(model.messages[0])
            model.text = "Hello!"
            expect(typings().count, equals: 2)
            server.setTyping(["bob"], in: "c1")
            await until { model.typing.text == "Bob is typing…" }
        }
    }
}
