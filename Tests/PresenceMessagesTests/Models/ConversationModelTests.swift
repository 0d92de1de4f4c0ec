import PresenceKit
import PresenceMessages
import PresenceTesting
import Testing

/// A conversation on a screen, with fakes.
@MainActor @Suite(.timeLimit(.minutes(1))) struct ConversationModelTests {
    private let presence = FakePresence(user: "ana")
    private let clock = TestClock()
    private let fake: FakeMessages
    private let model: ConversationModel

    init() {
        fake = FakeMessages(
            user: "ana",
            conversations: [
                ChatConversation(id: "c1", kind: .direct, participants: ["ana", "bob"]),
                ChatConversation(id: "g1", kind: .group, participants: ["ana", "bob", "cy"], owner: "bob"),
            ])
        model = Self.model("c1", fake, presence, clock)
    }

    private static func model(
        _ id: String, _ fake: FakeMessages, _ presence: FakePresence, _ clock: TestClock
    ) -> ConversationModel {
        ConversationModel(
            conversation: id, user: "ana", messages: fake, typing: presence, clock: clock
        ) { $0.capitalized }
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
            #expect(model.title == "Bob")
            fake.receive("Hello", from: "bob", in: "c1")
            await write("Hi!")
            await until { model.messages.map(\.text) == ["Hello", "Hi!"] }
            #expect(model.messages.map { model.sender(of: $0) } == ["Bob", "Ana"])
            #expect(model.messages.map { model.statusText(of: $0) } == [nil, "Sent"])
            fake.mark("bob", delivered: 2, in: "c1")
            await until { model.messages.last.flatMap { model.statusText(of: $0) } == "Delivered" }
            fake.mark("bob", read: 2, in: "c1")
            await until { model.messages.last.flatMap { model.statusText(of: $0) } == "Read" }
        }
    }

    @Test func `a message is marked as urgent, with a reason or without, and the next one is not`() async {
        await following(model) {
            model.isPriority = true
            model.priorityReason = "  " + String(repeating: "x", count: 300)
            #expect(model.priorityReason.count == 200)
            await write("one")
            #expect(!model.isPriority && model.priorityReason.isEmpty)
            model.isPriority = true
            await write("two")
            model.priorityReason = "not urgent after all"
            await write("three")
            await until { model.messages.count == 3 }
            #expect(model.messages.map(\.isPriority) == [true, true, false])
            #expect(model.messages.map(\.priorityReason?.count) == [198, nil, nil])
        }
    }

    @Test func `a message that cannot be sent keeps its priority`() async {
        await following(model) {
            model.isPriority = true
            model.priorityReason = "now"
            fake.fail(with: PresenceError(.storageFailed, "the test's disk"))
            await write("one")
            #expect(model.text == "one" && model.isPriority && model.priorityReason == "now")
            await model.send()
            await until { model.messages.map(\.priorityReason) == ["now"] }
        }
    }

    @Test func `in a group it says how many have read`() async {
        let model = Self.model("g1", fake, presence, clock)
        await following(model) {
            #expect(model.title == "Bob, Cy")
            model.text = "all"
            await model.send()
            fake.mark("bob", read: 1, in: "g1")
            fake.mark("cy", delivered: 1, in: "g1")
            await until { model.messages.last.flatMap { model.statusText(of: $0) } == "Read by 1" }
            fake.receive("mine", from: "bob", in: "g1")
            await until { model.messages.count == 2 }
            #expect(!model.canEdit(model.messages[1]) && !model.canDelete(model.messages[1]), "bob's, who owns it")
        }
    }

    @Test func `the owner of a group can delete any message`() async throws {
        var group = try #require(fake["g1"])
        group.owner = "ana"
        fake.set(group)
        let model = Self.model("g1", fake, presence, clock)
        await following(model) {
            fake.receive("rude", from: "cy", in: "g1")
            await until { model.messages.count == 1 }
            #expect(model.canDelete(model.messages[0]))
            await model.delete(model.messages[0])
            await until { model.messages[0].isDeleted && model.messages[0].deletedBy == "ana" }
        }
    }

    @Test func `without a connection a message waits at the end, and is sent once there is one`() async {
        await following(model) {
            fake.isOffline = true
            await write("one")
            await write("two")
            await until { model.messages.map { model.statusText(of: $0) } == ["Sending…", "Sending…"] }
            #expect(model.text.isEmpty && model.errorMessage == nil)
            fake.isOffline = false
            await until { model.messages.map { model.statusText(of: $0) } == ["Sent", "Sent"] }
            #expect(fake.texts(in: "c1") == ["one", "two"])
        }
    }

    @Test func `a rejected message shows the reason, and is sent again or discarded`() async {
        await following(model) {
            fake.refuseNextMessage()
            fake.refuseNextMessage()
            await write("one")
            await write("two")
            await until { model.messages.count == 2 }
            #expect(
                model.messages.map { model.statusText(of: $0) } == [
                    "Not sent: You are not allowed to do that.", "Not sent: You are not allowed to do that.",
                ])
            await model.retry(model.messages[0])
            await model.discard(model.messages[1])
            await until { model.messages.map(\.status) == [.sent] }
            #expect(fake.texts(in: "c1") == ["one"])
        }
    }

    @Test func `a message that cannot be stored is restored to the field, unless it has another text`() async {
        await following(model) {
            fake.fail(with: PresenceError(.storageFailed, "full"))
            await write("precious")
            #expect(model.text == "precious" && model.errorMessage == "The change could not be kept on this device.")
            fake.delay = .seconds(1)
            fake.fail(with: PresenceError(.storageFailed, "full"))
            let sending = Task { await model.send() }
            await fake.clock.sleepers()
            model.text = "next"
            fake.clock.advance(by: .seconds(1))
            await sending.value
            #expect(model.text == "next" && model.errorMessage != nil)
        }
    }

    @Test func `an empty text is not sent, and one that is too long shows an error while it is written`() async {
        for text in ["", "  \n"] {
            model.text = text
            #expect(!model.canSend && model.textError == nil)
            await model.send()
        }
        model.text = String(repeating: "x", count: 5_001)
        #expect(!model.canSend && model.textError == "A message must be 5000 characters or less")
        await model.send()
        #expect(fake.calls.isEmpty)
        model.text = " trimmed\n"
        await model.send()
        #expect(fake.texts(in: "c1") == ["trimmed"])
    }

    @Test func `a text is edited in the field, and the draft is restored afterwards`() async throws {
        try await following(model) {
            await write("On my wya")
            await until { model.messages.count == 1 }
            model.text = "a draft"
            let message = try #require(model.messages.first)
            model.beginEditing(message)
            #expect(model.text == "On my wya" && !model.canSend, "nothing is changed yet")
            model.text = "On my way"
            await model.send()
            await until { model.messages.first?.text == "On my way" }
            #expect(model.messages[0].isEdited && model.editing == nil && model.text == "a draft")

            fake.fail(with: PresenceError(.storageFailed, "no space is left"))
            model.beginEditing(model.messages[0])
            model.text = "Nearly there"
            await model.send()
            #expect(model.editing != nil && model.text == "Nearly there" && model.errorMessage != nil)
            model.cancelEditing()
            #expect(model.text == "a draft")
        }
    }

    @Test func `a change without a connection is shown and sent later, and a rejection can be handled`()
        async
    {
        await following(model) {
            for text in ["one", "two", "three"] { await write(text) }
            await until { model.messages.count == 3 }
            fake.isOffline = true
            model.beginEditing(model.messages[0])
            model.text = "ONE"
            await model.send()
            await model.delete(model.messages[1])
            await until { model.messages.map(\.hasPendingChange) == [true, true, false] }
            #expect(model.editing == nil && model.messages[0].text == "ONE" && model.messages[1].isDeleted)
            #expect(fake.texts(in: "c1") == ["one", "two", "three"] && model.errorMessage == nil)

            fake.refuseNextChange()
            fake.isOffline = false
            await until { model.messages.map(\.text) == ["one", "", "three"] && model.refusedChanges.count == 1 }
            #expect(model.refusedChanges.first?.failure?.code == .forbidden)
            await model.retry(model.refusedChanges[0])
            await until { model.messages.first?.text == "ONE" && model.refusedChanges.isEmpty }
            #expect(model.messages.first?.editCount == 1)
        }
    }

    @Test func `editing ends when the message is deleted elsewhere`() async throws {
        try await following(model) {
            await write("gone soon")
            await until { model.messages.count == 1 }
            model.beginEditing(model.messages[0])
            try await fake.delete(model.messages[0])
            await until { model.editing == nil && model.messages[0].isDeleted }
            #expect(model.text.isEmpty && model.statusText(of: model.messages[0]) == nil)
            model.beginEditing(model.messages[0])
            await model.delete(model.messages[0])
            #expect(model.editing == nil && fake.calls.filter { $0 == .delete(model.messages[0].id) }.count == 1)
        }
    }

    @Test func `only visible messages are marked as read`() async throws {
        await following(model) {
            fake.receive("one", from: "bob", in: "c1")
            await until { model.messages.count == 1 && model.conversation?.unreadCount == 1 }
            model.isVisible = true
            await until { model.conversation?.unreadCount == 0 }
            fake.receive("two", from: "bob", in: "c1")
            await until { model.messages.count == 2 && model.conversation?.unreadCount == 0 }
            model.isVisible = false
            fake.receive("three", from: "bob", in: "c1")
            await until { model.messages.count == 3 && model.conversation?.unreadCount == 1 }
            let marks = fake.calls.filter { if case .markRead = $0 { true } else { false } }
            #expect(marks == [.markRead("c1", upTo: 1), .markRead("c1", upTo: 2)])
        }
    }

    @Test func `earlier pages are loaded on demand, one at a time`() async {
        for number in 1...30 { fake.receive("\(number)", from: "bob", in: "c1") }
        fake.hide(25, in: "c1")
        await following(model) {
            await until { model.messages.count == 5 && model.hasEarlier }
            fake.delay = .seconds(1)
            let loading = Task { await model.loadEarlier(limit: 20) }
            await fake.clock.sleepers()
            #expect(model.isLoadingEarlier)
            await model.loadEarlier(limit: 20)
            fake.clock.advance(by: .seconds(1))
            await loading.value
            fake.delay = nil
            await until { model.messages.first?.text == "6" }
            #expect(model.hasEarlier && !model.isLoadingEarlier)
            await model.loadEarlier()
            await until { model.messages.count == 30 && !model.hasEarlier }
            await model.loadEarlier()
            #expect(fake.calls.filter { $0 == .loadEarlier("c1") }.count == 2)
        }
    }

    @Test func `others see the user typing until the message is sent, but not during an edit`() async {
        await following(model) {
            model.text = "H"
            #expect(presence.calls == [.startTyping("c1")])
            await write("Hello")
            #expect(presence.calls == [.startTyping("c1"), .startTyping("c1"), .stopTyping("c1")])
            await until { model.messages.count == 1 }
            model.beginEditing(model.messages[0])
            model.text = "Hello!"
            #expect(presence.calls.count == 3)
            presence.setTyping(["bob"], in: "c1")
            await until { model.typing.text == "Bob is typing…" }
        }
    }
}
