import Expectations
import Foundation
import TestSupport
import Testing

@testable import PresenceKit
@testable import PresenceMessages
@testable import PresenceTesting

/// Writing is a use of the client like any other: the client connects by itself.
@Suite(.timeLimit(.minutes(1))) struct FirstUseTests {
    @Test(arguments: [
        "send", "editMessage", "deleteMessage", "conversationSettings", "mark", "markNotifications",
    ])
    func `a process that only writes connects by itself`(type: String) async throws {
        let server = InMemoryServer.with()
        server.write("theirs")
        _ = server.change { $0.store(["id": "m", "text": "mine"], from: "ana", in: "c1") }
        server.notify("news")
        // The data of an earlier process contains the owner of the storage.
        let storage = Storage(cache: PresenceCache(), writes: StoredWrites())
        try await storage.writes.setOwner("ana")
        let scene = Scene(server, storage: storage, user: "ana")
        let notifications = PresenceNotifications(scene.client)
        let message = Message(id: "m", conversationId: "c1", senderId: "ana", text: "mine", sequence: 2)
        switch type {
        case "send": try await scene.messages.send("quick", in: "c1")
        case "editMessage": try await scene.messages.edit(message, text: "new")
        case "deleteMessage": try await scene.messages.delete(message)
        case "conversationSettings": try await scene.messages.archive("c1")
        case "mark": await scene.messages.markRead(in: "c1", upTo: 1)
        default: try await notifications.archive([UserNotification(id: "n1", sequence: 1, kind: "k", title: "t")])
        }
        while server.requests(type).isEmpty { await Task.yield() }
        while try await !storage.writes.load().writes.isEmpty { await Task.yield() }
    }

    @Test func `a write before the user is known connects, which determines the user`() async throws {
        let scene = Scene(user: "ana")
        let error = await #expect(throws: PresenceError.self) { try await scene.messages.send("a", in: "c1") }
        expect(error?.code, equals: .notConnected)
        for await state in scene.client.connectionStates where state.isConnected { break }
        try await scene.messages.send("b", in: "c1")
        _ = try await scene.messages.waiting.until { $0 == 0 }
        expect(scene.server.texts(in: "c1"), equals: ["b"])
    }

    @Test func `loops that begin after a sign-out do not connect, so a change is not kept for the next user`()
        async throws
    {
        let scene = Scene()
        let notifications = PresenceNotifications(scene.client)
        await scene.connected()
        await scene.client.signOut()
        let loops = [
            Task { for await _ in scene.messages.conversationList {} },
            Task { for await _ in scene.messages.messages(in: "c1") {} },
            Task { for await _ in notifications.inbox {} },
        ]
        while await scene.messages.listLoops.isEmpty { await Task.yield() }
        while await scene.messages.messageLoops.isEmpty { await Task.yield() }
        while await notifications.loops.isEmpty { await Task.yield() }
        let error = await #expect(throws: PresenceError.self) {
            try await scene.client.updateProfile(displayName: "Ana")
        }
        expect(error?.code, equals: .signedOut)
        await expect(scene.client.connectionState, equals: .closed(nil))
        for loop in loops { loop.cancel() }
    }

    @Test func `a write after the app disconnected waits until it connects`() async throws {
        let scene = Scene()
        await scene.connected()
        await scene.client.disconnect()
        try await scene.messages.send("a", in: "c1")
        await expect(scene.client.connectionState, equals: .closed(nil))
        await scene.connected()
        _ = try await scene.messages.waiting.until { $0 == 0 }
    }
}
