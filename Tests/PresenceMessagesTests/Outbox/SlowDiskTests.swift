import Expectations
import Foundation
import Testing

@testable import PresenceKit
@testable import PresenceMessages
@testable import PresenceTesting

/// The outbox on a disk that is slow or full.
@Suite(.timeLimit(.minutes(1))) struct SlowDiskTests {
    private let server = InMemoryServer.with()
    private let writes = FaultyWrites()
    private let scene: Scene

    init() { scene = Scene(server, storage: Storage(cache: PresenceCache(), writes: writes)) }

    @Test(arguments: [true, false])
    func `settings are sent once the older ones are removed, and their call gets the reply`(isRefused: Bool)
        async throws
    {
        let put = "PUT /v1/me/notificationSettings"
        let client = server.client(as: "ana", storage: Storage(cache: PresenceCache(), writes: writes))
        let notifications = PresenceNotifications(client, clock: scene.clock)
        client.connect()
        while await !notifications.isConnected { await Task.yield() }
        server.refuse(put, ["code": "rate_limited", "retryAfter": 5_000])
        try await expect(notifications.setSettings(.init(direct: .off)), equals: false)
        await scene.clock.sleepers()
        await writes.set(removalDelay: .seconds(1))
        let call = Task { try await notifications.setSettings(.init(groups: .off)) }
        await writes.clock.sleepers()
        scene.clock.advance(by: .seconds(5))
        while server.requests(put).count < 2 { await Task.yield() }
        if isRefused { server.refuse(put, ["code": "validation_failed", "field": "quiet.timezone"]) }
        await writes.set()
        writes.clock.advance(by: .seconds(1))
        if isRefused {
            await #expect(throws: PresenceError.self) { try await call.value }
        } else {
            try await expect(call.value)
        }
        expect(server.requests(put).count, equals: 3)
    }

    @Test func `a change that is refused while its call still waits for the disk ends the call`() async throws {
        await scene.connected()
        let message = try await scene.messages.send("one", in: "c1")
        _ = try await scene.messages.waiting.until { $0 == 0 }
        while await !writes.load().writes.isEmpty { await Task.yield() }
        await writes.set(mayRemove: false)
        try await scene.messages.edit(message, text: "two")
        while await scene.messages.outbox.unremoved.isEmpty { await Task.yield() }
        await writes.set(removalDelay: .seconds(1))
        server.refuse("editMessage", ["code": "forbidden"])
        let call = Task { try await scene.messages.edit(message, text: "three") }
        await writes.clock.sleepers()
        let former = await scene.messages.generation
        server.cutAll()
        while await scene.messages.generation == former { await Task.yield() }
        await writes.set()
        writes.clock.advance(by: .seconds(1))
        await #expect(throws: PresenceError.self) { try await call.value }
    }

    @Test func `a second call with the same message returns once the message is stored`() async throws {
        await scene.connected()
        let message = Message(conversationId: "c1", senderId: "ana", text: "once")
        await writes.set(delay: .seconds(1))
        let first = Task { try await scene.messages.send(message) }
        await writes.clock.sleepers()
        let second = Task { try await scene.messages.send(message) }
        for _ in 0..<100 { await Task.yield() }
        await writes.set(mayAppend: false)
        writes.clock.advance(by: .seconds(1))
        await #expect(throws: PresenceError.self) { try await first.value }
        await #expect(throws: PresenceError.self) { try await second.value }
    }

    @Test func `marks on a full disk do not pile up`() async throws {
        await scene.connected()
        while await !scene.messages.isConnected { await Task.yield() }
        server.isThere(false)
        await writes.set(mayAppend: false)
        for read in Array(1...20) + Array(1...20).reversed() {
            await scene.messages.markRead(in: "c1", upTo: Int64(read))
        }
        await expect(scene.messages.outbox.works.count, equals: 1)
    }
}
