import Expectations
import Foundation
import Testing

@testable import PresenceKit
@testable import PresenceMessages
@testable import PresenceTesting

/// A call whose task is cancelled throws `CancellationError`, and a model shows no error for it.
@Suite(.timeLimit(.minutes(1))) struct CancellationTests {
    private let scene = Scene()
    private var server: InMemoryServer { scene.server }

    /// Starts a call whose request the server does not answer, and cancels it.
    private func cancelling<Value: Sendable>(
        _ type: String, _ body: @escaping @Sendable () async throws -> Value
    ) async -> Result<Value, any Error> {
        let count = server.requests(type).count
        server.cut(type, .silence)
        let task = Task { try await body() }
        while server.requests(type).count == count { await Task.yield() }
        task.cancel()
        return await task.result
    }

    private func expectCancelled<Value: Sendable>(
        _ type: String, _ location: SourceLocation = #_sourceLocation,
        _ body: @escaping @Sendable () async throws -> Value
    ) async {
        let result = await cancelling(type, body)
        #expect(throws: CancellationError.self, sourceLocation: location) { try result.get() }
    }

    @Test func `calls of conversations throw CancellationError`() async {
        await scene.connected()
        let messages = scene.messages
        await expectCancelled("getConversation") { try await messages.conversation("c1") }
        await expectCancelled("createConversation") { try await messages.directConversation(with: "bob") }
        await expectCancelled("createConversation") { try await messages.createGroup(with: ["bob"], name: "Trip") }
        await expectCancelled("renameConversation") { try await messages.rename("c1", to: "Trip") }
        await expectCancelled("changeMembers") { try await messages.changeMembers(of: "c1", add: ["cy"]) }
        await expectCancelled("changeMembers") { try await messages.leave("c1") }
        await expectCancelled("getMessages") { try await messages.getMessages(in: "c1") }
    }

    @Test func `changes throw CancellationError, and are made nevertheless`() async throws {
        await scene.connected()
        try await scene.messages.send("draft", in: "c1")
        let messages = scene.messages
        let sent = try #require(await scene.list { $0.last?.sequence != nil }.last)
        await expectCancelled("editMessage") { try await messages.edit(sent, text: "final") }
        await expect(scene.list { $0.last?.text == "final" }.count, equals: 1)
        server.cutAll()
        _ = try await messages.waiting.until { $0 == 0 }
        expect(server.texts(in: "c1"), equals: ["final"])
    }

    @Test func `a page of notifications throws CancellationError`() async {
        for number in 1...60 { server.notify("\(number)") }
        server.state.withLock { $0.notices["ana"]!.seen = 60 }
        let notifications = PresenceNotifications(scene.client, clock: scene.clock)
        var loop = notifications.inbox.makeAsyncIterator()
        await loop.reaches { $0.notifications.count == 50 }
        await expectCancelled("getNotifications") { try await notifications.loadEarlier() }
    }

    @Test @MainActor func `a model shows no error for what was cancelled`() async {
        for number in 1...60 { server.write("\(number)") }
        let model = ConversationModel(
            conversation: "c1", user: "ana", messages: scene.messages,
            typing: scene.client)
        let run = Task { await model.run() }
        await until { model.hasEarlier && !model.messages.isEmpty }
        _ = await cancelling("getMessages") { await model.loadEarlier() }
        expect(model.errorMessage == nil && !model.isLoadingEarlier && model.messages.count == 50)
        // Later calls still work.
        await model.loadEarlier()
        await until { model.messages.count == 60 }
        run.cancel()

        let list = ConversationListModel(user: "ana", messages: scene.messages)
        let trip = ChatConversation(id: "c1", kind: .group, participants: ["ana", "bob"])
        _ = await cancelling("renameConversation") { await list.rename(trip, to: "Trip") }
        expect(list.errorMessage == nil && !list.isBusy)
    }
}
