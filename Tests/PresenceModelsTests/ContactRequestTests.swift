import Expectations
import Foundation
import PresenceKit
import PresenceMessages
import PresenceTesting
import Testing

/// Contact requests, and conversations that strangers begin, with a server in memory.
@MainActor @Suite(.timeLimit(.minutes(1))) struct ContactRequestTests {
    private let stage = Stage(.online("bob", name: "Bob"))
    private var server: InMemoryServer { stage.server }
    private let model: PeopleModel
    private let bob: PresenceClient

    init() {
        model = PeopleModel(stage.client)
        bob = stage.server.client(as: "bob")
        stage.server.addAccount("ana", displayName: "Ana")
    }

    private func following(_ body: () async throws -> Void) async rethrows {
        let run = Task { await model.run() }
        defer { run.cancel() }
        await until { model.isLoaded }
        try await body()
    }

    @Test func `a request is shown on all devices, and accepted on one`() async throws {
        let tablet = PeopleModel(server.client(as: "ana"))
        let other = Task { await tablet.run() }
        defer { other.cancel() }
        try await following {
            expect(model.requests.isEmpty)
            try await bob.requestContact("ana", text: "We met in Lyon")
            await until { model.requests.count == 1 && tablet.requests.count == 1 }
            let request = try #require(model.requests.first)
            expect(request.user == "bob" && request.displayName == "Bob" && request.text == "We met in Lyon")
            expect(request.askedAt >= .inTests && request.id == "bob")
            await model.accept(request)
            await until { model.requests.isEmpty && tablet.requests.isEmpty }
            expect(model.errorMessage, equals: nil)
            expect(server.contacts(of: "ana") == ["bob"] && server.contacts(of: "bob") == ["ana"])
            // Another device is as fast.
            await tablet.accept(request)
            expect(tablet.errorMessage, equals: nil)
        }
    }

    @Test func `a refused request goes, and the same again is not shown`() async throws {
        try await following {
            try await bob.requestContact("ana")
            await until { model.requests.count == 1 }
            await model.refuse(model.requests[0])
            await until { model.requests.isEmpty }
            try await bob.requestContact("ana", text: "Please")
            try await expect(stage.client.visibility().contacts.isEmpty)
            expect(model.requests.isEmpty && server.contacts(of: "bob").isEmpty)
        }
    }

    @Test func `a new connection has the list as it is then`() async throws {
        try await following {
            try await bob.requestContact("ana")
            await until { model.requests.count == 1 }
            await stage.goOffline()
            expect(model.requests.count, equals: 1, "as last known")
            server.goOnline()
            await stage.connected()
            await until { model.requests.count == 1 }
            await model.block("bob")
            await until { model.requests.isEmpty }
            try await expect(stage.client.visibility().blocked, equals: ["bob"])
        }
    }

    @Test func `what cannot be asked is told, and what is hidden is not`() async throws {
        await stage.connected()
        let error = await #expect(throws: PresenceError.self) { try await stage.client.requestContact("ana") }
        expect(error?.code == .validationFailed && error?.field == "user")
        await #expect(throws: PresenceError.self) { try await stage.client.requestContact("no id") }
        await model.ask("bob", text: String(repeating: "a", count: 141))
        expect(model.errorMessage == "This text cannot be used." && model.message == nil)
        await model.ask("nobody")
        expect(model.errorMessage == nil && model.message == "Your request was sent.")
        let missing = await #expect(throws: PresenceError.self) {
            try await stage.client.answerContact("bob", accept: false)
        }
        expect(missing?.code, equals: .notFound)
        server.fail("requestContact", with: PresenceError(.unknownType))
        await model.ask("bob")
        expect(model.errorMessage, equals: "The server does not offer that.")
        await stage.goOffline()
        await model.ask("bob")
        expect(model.errorMessage, equals: "There is no connection to the server.")
    }

    @Test func `two who ask each other are contacts at once`() async throws {
        server.addAccount("bob")
        await stage.connected()
        try await bob.requestContact("ana")
        try await stage.client.requestContact("bob")
        expect(server.contacts(of: "ana") == ["bob"] && server.contacts(of: "bob") == ["ana"])
    }

    @Test func `a stranger's conversation is a request until it is answered`() async throws {
        try await stage.client.setVisibility(conversationsFrom: .contacts)
        try await expect(stage.client.visibility().conversationsFrom, equals: .contacts)
        for await me in stage.client.meUpdates where me.visibility?.conversationsFrom == .contacts { break }
        await #expect(throws: PresenceError.self) { try await stage.client.setVisibility(conversationsFrom: .nobody) }
        let (messages, theirs) = (PresenceMessenger(stage.client), PresenceMessenger(bob))
        let list = ConversationListModel(user: "ana", messages: messages)
        let run = Task { await list.run() }
        defer { run.cancel() }
        let made = try await theirs.directConversation(with: "ana", metadata: nil)
        try await theirs.send("Hello", in: made.id)
        await until { list.conversations.first?.lastMessage?.text == "Hello" }
        expect(list.conversations[0].isRequest && list.unreadCount == 0)
        expect(!made.isRequest, "only the one who has not answered sees it")
        await messages.markRead(in: made.id, upTo: nil)
        try await stage.client.answerContact("bob", accept: true)
        await until { list.conversations.first?.isRequest == false }
        expect(server.contacts(of: "ana").isEmpty, "it opens the conversation alone")
        for await conversations in theirs.conversationList
        where conversations.first?.member("ana")?.read == 1 { break }
        expect(list.conversations[0].unreadCount, equals: 0)
    }

    @Test func `a message to a stranger answers them too, and a refusal archives`() async throws {
        try await stage.client.setVisibility(conversationsFrom: .contacts)
        let (messages, theirs) = (PresenceMessenger(stage.client), PresenceMessenger(bob))
        let list = ConversationListModel(user: "ana", messages: messages)
        let run = Task { await list.run() }
        defer { run.cancel() }
        let made = try await theirs.directConversation(with: "ana", metadata: nil)
        try await theirs.send("Hello", in: made.id)
        await until { list.conversations.first?.isRequest == true }
        try await messages.send("Hi", in: made.id)
        await until { list.conversations.first?.isRequest == false }
        let cy = server.client(as: "cy")
        _ = try await PresenceMessenger(cy).directConversation(with: "ana", metadata: nil)
        await until { list.conversations.count == 2 }
        try await stage.client.answerContact("cy", accept: false)
        await until { list.archived.count == 1 }
        expect(list.archived[0].isRequest && list.archived[0].participants == ["ana", "cy"])
        let coded = try JSONDecoder().decode(ChatConversation.self, from: JSONEncoder().encode(list.archived[0]))
        expect(coded.isRequest)
    }
}
