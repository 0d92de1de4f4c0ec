import Expectations
import Foundation
import TestSupport
import Testing

@testable import PresenceKit
@testable import PresenceMessages
@testable import PresenceTesting

/// Sent messages: stored first, in order, once.
@Suite(.timeLimit(.minutes(1))) struct OutboxTests {
    @Test func `messages are sent in order, with the newest known sequence`() async throws {
        let scene = Scene()
        await scene.connected()
        for number in 1...20 {
            let message = try await scene.messages.send("\(number)", in: "c1")
            expect(message.status == .sending && message.senderId == "ana")
        }
        _ = try await scene.messages.waiting.until { $0 == 0 }
        expect(scene.server.texts(in: "c1"), equals: (1...20).map { "\($0)" })
    }

    @Test func `offline a message is kept, shown at the end, and sent with the next connection`() async throws {
        let scene = Scene()
        await scene.connected()
        var loop = scene.messages.messages(in: "c1").makeAsyncIterator()
        scene.server.write("before")
        await loop.reaches { $0.count == 1 }
        scene.server.isThere(false)
        for text in ["a", "b"] { try await scene.messages.send(text, in: "c1") }
        let offline = await loop.reaches { $0.count == 3 }
        expect(offline?.map(\.status), equals: [.delivered, .sending, .sending])
        scene.server.write("meanwhile")
        scene.server.isThere(true)
        scene.client.networkChanged(isAvailable: true)
        let all = await loop.reaches { $0.count == 4 && $0.allSatisfy { $0.sequence != nil } }
        expect(all?.map(\.text), equals: ["before", "meanwhile", "a", "b"])
        expect(scene.server.requests("send").first?["after"] as? Int, equals: 1)
    }

    @Test(arguments: [InMemoryServer.Cut.before, .after])
    func `a lost connection during sending neither loses nor repeats it`(cut: InMemoryServer.Cut) async throws {
        let scene = Scene()
        await scene.connected()
        scene.server.cut("send", cut)
        for number in 1...5 { try await scene.messages.send("\(number)", in: "c1") }
        _ = try await scene.messages.waiting.until { $0 == 0 }
        expect(scene.server.texts(in: "c1"), equals: ["1", "2", "3", "4", "5"])
        let ids = scene.server.requests("send").compactMap {
            ($0["message"] as? InMemoryServer.Object)?["id"] as? String
        }
        expect(ids.count == 6 && Set(ids).count == 5)
    }

    @Test func `a rejected message fails without blocking others; it can be retried or discarded`() async throws {
        let scene = Scene()
        await scene.connected()
        var loop = scene.messages.messages(in: "c1").makeAsyncIterator()
        scene.server.refuse("send", ["code": "forbidden"])
        scene.server.refuse("send", ["code": "forbidden"])
        var made: [Message] = []
        for text in ["a", "b", "c"] { made.append(try await scene.messages.send(text, in: "c1")) }
        let list = await loop.reaches { $0.map(\.status) == [.sent, .failed, .failed] }
        expect(list?.map(\.text) == ["c", "a", "b"] && list?[1].failure?.code == .forbidden)
        try await scene.messages.discard(made[0].id)
        try await scene.messages.retry(made[1].id)
        let rest = await loop.reaches { $0.count == 2 && $0.last?.status == .sent }
        expect(rest?.map(\.text), equals: ["c", "b"])
        let error = await #expect(throws: PresenceError.self) { try await scene.messages.retry(made[1].id) }
        expect(error?.code, equals: .notFound)
    }

    @Test(arguments: ["internal", "of_a_later_version"])
    func `a message with a server fault each time fails in the end, and the others are sent`(code: String)
        async throws
    {
        let scene = Scene()
        await scene.connected()
        var loop = scene.messages.messages(in: "c1").makeAsyncIterator()
        func refuse() { for _ in 0..<5 { scene.server.refuse("send", ["code": code]) } }
        /// The delay before each attempt is twice that of the one before.
        func waitForTries(_ before: Int) async throws {
            for (tries, seconds) in [1, 2, 4, 8].enumerated() {
                await scene.clock.sleepers(1)
                scene.clock.advance(by: .seconds(seconds) - .milliseconds(1))
                expect(scene.server.requests("send").count, equals: before + tries + 1)
                scene.clock.advance(by: .milliseconds(1))
            }
        }
        refuse()
        var made: [Message] = []
        for text in ["a", "b"] { made.append(try await scene.messages.send(text, in: "c1")) }
        try await waitForTries(0)
        let list = await loop.reaches { $0.map(\.status) == [.sent, .failed] }
        expect(list?.map(\.text) == ["b", "a"] && list?.last?.failure?.code.rawValue == code)
        // A retry has the same number of attempts.
        refuse()
        try await scene.messages.retry(made[0].id)
        try await waitForTries(6)
        await loop.reaches { $0.map(\.status) == [.sent, .failed] && scene.server.requests("send").count == 11 }
        if code == "internal" {
            try await scene.messages.retry(made[0].id)
            await loop.reaches { $0.map(\.text) == ["b", "a"] && $0.last?.status == .sent }
        } else {
            try await scene.messages.discard(made[0].id)
            await loop.reaches { $0.map(\.text) == ["b"] }
        }
    }

    @Test func `an unknown code with a delay never fails, and a fault in between restarts the count`() async throws {
        let scene = Scene()
        await scene.connected()
        for number in 0..<12 {
            let more: InMemoryServer.Object = number % 4 == 3 ? ["retryAfter": 5_000] : [:]
            scene.server.refuse("send", ["code": "of_a_later_version"].merging(more) { $1 })
        }
        try await scene.messages.send("a", in: "c1")
        for seconds in [1, 2, 4, 5, 1, 2, 4, 5, 1, 2, 4, 5] {
            await scene.clock.sleepers(1)
            scene.clock.advance(by: .seconds(seconds))
        }
        _ = try await scene.messages.waiting.until { $0 == 0 }
        expect(scene.server.texts(in: "c1"), equals: ["a"])
    }

    @Test func `a rate-limited message waits as long as the server names`() async throws {
        let scene = Scene()
        await scene.connected()
        scene.server.refuse("send", ["code": "rate_limited", "retryAfter": 5_000])
        for text in ["a", "b"] { try await scene.messages.send(text, in: "c1") }
        await scene.clock.sleepers(1)
        expect(scene.server.texts(in: "c1").isEmpty)
        scene.clock.advance(by: .milliseconds(4_999))
        expect(scene.server.requests("send").count, equals: 1)
        scene.clock.advance(by: .milliseconds(1))
        _ = try await scene.messages.waiting.until { $0 == 0 }
        expect(scene.server.texts(in: "c1"), equals: ["a", "b"])
    }

    @Test func `pending and failed messages are there after a launch`() async throws {
        let directory = try TemporaryDirectory()
        let server = InMemoryServer.with()
        do {
            let scene = Scene(server, storage: try .directory(URL(fileURLWithPath: directory.path)))
            await scene.connected()
            var loop = scene.messages.messages(in: "c1").makeAsyncIterator()
            server.refuse("send", ["code": "forbidden"])
            try await scene.messages.send("refused", in: "c1")
            await loop.reaches { $0.last?.status == .failed }
            server.isThere(false)
            for text in ["a", "b"] { try await scene.messages.send(text, in: "c1") }
            await scene.client.disconnect()
        }
        let storage = try await Self.reopened(directory)
        let scene = Scene(server, storage: storage)
        var loop = scene.messages.messages(in: "c1").makeAsyncIterator()
        let left = await loop.reaches { $0.count == 3 }
        expect(left?.map(\.status), equals: [.failed, .sending, .sending])
        server.isThere(true)
        scene.client.networkChanged(isAvailable: true)
        await loop.reaches { $0.map(\.text) == ["a", "b", "refused"] && $0[1].status == .sent }
        expect(server.texts(in: "c1"), equals: ["a", "b"])
    }

    @Test func `the first call of a launch can discard a failed message`() async throws {
        let directory = try TemporaryDirectory()
        let server = InMemoryServer.with()
        let refused: Message
        do {
            let scene = Scene(server, storage: try .directory(URL(fileURLWithPath: directory.path)))
            await scene.connected()
            server.refuse("send", ["code": "forbidden"])
            refused = try await scene.messages.send("refused", in: "c1")
            await scene.list { $0.last?.status == .failed }
            await scene.client.disconnect()
        }
        let storage = try await Self.reopened(directory)
        try await Scene(server, storage: storage).messages.discard(refused.id)
        try await expect(storage.writes.load().writes.isEmpty)
    }

    /// The directory, once the former client has released it.
    static func reopened(_ directory: TemporaryDirectory) async throws -> Storage {
        while true {
            do {
                return try .directory(URL(fileURLWithPath: directory.path))
            } catch let error as PresenceError where error.code == .storageInUse {
                // Throws when the test's time is over.
                try await Task.sleep(for: .milliseconds(1))
            }
        }
    }

    @Test func `a message written offline belongs to the token's user, also in another user's storage`() async throws {
        let directory = try TemporaryDirectory()
        let server = InMemoryServer.with()
        do {
            let scene = Scene(server, storage: try .directory(URL(fileURLWithPath: directory.path)), user: "ana")
            await scene.connected()
            server.isThere(false)
            try await scene.messages.send("ana's", in: "c1")
            await scene.client.disconnect()
        }
        do {
            let scene = Scene(server, storage: try await Self.reopened(directory), user: "bob")
            var loop = scene.messages.messages(in: "c1").makeAsyncIterator()
            scene.client.connect()
            for await state in scene.client.connectionStates {
                if case .reconnecting = state { break }
            }
            try await expect(scene.messages.send("bob's", in: "c1").senderId, equals: "bob")
            await loop.reaches { $0.map(\.text) == ["bob's"] }
            await scene.client.disconnect()
        }
        let scene = Scene(server, storage: try await Self.reopened(directory), user: "bob")
        server.isThere(true)
        await scene.connected()
        _ = try await scene.messages.waiting.until { $0 == 0 }
        expect(server.texts(in: "c1"), equals: ["bob's"])
        let kept = try await scene.client.keptWrites(ofKinds: ["message", "messageChange"]).writes
        expect(kept.allSatisfy { $0.owner == "bob" })
    }

    @Test func `a stored message outlasts a launch with another user's token that does not connect`() async throws {
        let directory = try TemporaryDirectory()
        let server = InMemoryServer.with()
        for user in ["ana", "bob"] {
            let storage = try await Self.reopened(directory)
            let scene = Scene(server, storage: storage, user: user)
            server.isThere(user == "ana")
            scene.client.connect()
            for await state in scene.client.connectionStates where state.isConnected == (user == "ana") {
                if state.isConnected { break }
                if case .reconnecting = state { break }
            }
            server.isThere(false)
            if user == "ana" { try await scene.messages.send("ana's", in: "c1") }
            _ = try await scene.messages.waiting.until { $0 == (user == "ana" ? 1 : 0) }
            await scene.client.close()
        }
        server.isThere(true)
        let scene = Scene(server, storage: try await Self.reopened(directory), user: "ana")
        await scene.connected()
        _ = try await scene.messages.waiting.until { $0 == 0 }
        expect(server.texts(in: "c1"), equals: ["ana's"])
    }

    @Test func `a message is stored although its caller is cancelled, and the caller gets that error`() async throws {
        let scene = Scene()
        await scene.connected()
        scene.server.isThere(false)
        let sending = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await scene.messages.send("kept", in: "c1")
        }
        let message = try await sending.value
        let kept = try await scene.client.keptWrites(ofKinds: ["message", "messageChange"]).writes
        expect(kept.map(\.id), equals: [message.id])
        await scene.list { $0.map(\.id) == [message.id] }
    }

    @Test func `an invalid message is rejected before it is stored`() async throws {
        let scene = Scene()
        await scene.connected()
        for text in ["", "a\u{0}", String(repeating: "x", count: 5_001)] {
            let error = await #expect(throws: PresenceError.self) { try await scene.messages.send(text, in: "c1") }
            expect(error?.code == .validationFailed && error?.field == "text")
        }
        try await scene.messages.send(String(repeating: "x", count: 5_000), in: "c1")
    }

    @Test func `the outbox has room for a thousand messages, and no more`() async throws {
        let scene = Scene()
        await scene.connected()
        scene.server.isThere(false)
        for number in 1...PresenceMessenger.maximumWaiting { try await scene.messages.send("\(number)", in: "c1") }
        let error = await #expect(throws: PresenceError.self) { try await scene.messages.send("more", in: "c1") }
        expect(error?.code, equals: .tooMany)
        scene.server.isThere(true)
        scene.client.networkChanged(isAvailable: true)
        _ = try await scene.messages.waiting.until { $0 == 0 }
        expect(scene.server.texts(in: "c1"), equals: (1...PresenceMessenger.maximumWaiting).map { "\($0)" })
    }

    @Test func `the same message is sent once`() async throws {
        let scene = Scene()
        await scene.connected()
        let message = Message(conversationId: "c1", senderId: "ana", text: "once")
        try await scene.messages.send(message)
        try await scene.messages.send(message)
        _ = try await scene.messages.waiting.until { $0 == 0 }
        expect(scene.server.texts(in: "c1"), equals: ["once"])
    }
}
