import EventLoops
import Expectations
import Foundation
import Testing

@testable import PresenceKit
@testable import PresenceMessages
@testable import PresenceTesting

/// The registration of this device for pushes, with a fake HTTP transport.
@Suite(.timeLimit(.minutes(1))) struct DeviceTests {
    private static let done: FakeHTTPTransport.Answer = { _ in HTTPResponse(status: 204) }
    private static let gone: FakeHTTPTransport.Answer = { _ in throw HTTPFailure("offline", wasSent: false) }

    /// The sent requests, in the form `PUT token t`.
    private static func sent(_ scene: Scene) -> [String] {
        scene.transport.requests.map { request in
            let body = request.body.flatMap { try? JSONDecoder().decode([String: String].self, from: $0) }
            let token = request.headers["Authorization"]?.replacing("Bearer ", with: "") ?? ""
            return [request.method, body?["pushToken"], token].compactMap(\.self).joined(separator: " ")
        }
    }

    private static func hasSent(_ scene: Scene, _ count: Int) async -> [String] {
        while scene.transport.requests.count < count { await Task.yield() }
        return sent(scene)
    }

    /// Tokens `t1`, `t2`, …, a new one each time.
    private static func counted() -> PresenceClient.TokenProvider {
        let given = Locked(0)
        return {
            given.withLock { given in
                given += 1
                return "t\(given)"
            }
        }
    }

    private static func connected(_ scene: Scene = Scene()) async -> Scene {
        scene.transport.respond(done)
        await scene.connected()
        while await !scene.messages.isConnected { await Task.yield() }
        return scene
    }

    @Test func `a device is registered and removed with the connection's token`() async throws {
        let scene = await Self.connected()
        try await expect(scene.messages.registerDevice(.apns(Data([0xDE, 0xAD, 0x01]))))
        let request = try #require(scene.transport.requests.first)
        expect(request.url.absoluteString == "http://example.org/v1/me/devices/current" && request.method == "PUT")
        let body = try JSONDecoder().decode([String: String].self, from: request.body ?? Data())
        expect(body, equals: ["pushToken": "dead01", "platform": "apns"])
        expect(request.headers["Authorization"] == "Bearer t" && request.headers["Content-Type"] == "application/json")
        try await expect(scene.messages.registerDevice(.fcm("b:1")))
        try await expect(scene.messages.removeDevice())
        expect(Self.sent(scene), equals: ["PUT dead01 t", "PUT b:1 t", "DELETE t"])
    }

    @Test(arguments: ["", "a b", "ü", "a\n", String(repeating: "x", count: 1_025)])
    func `a token that no server accepts is not sent`(token: String) async throws {
        let scene = await Self.connected()
        let error = await #expect(throws: PresenceError.self) {
            try await scene.messages.registerDevice(.fcm(token))
        }
        expect(error?.code == .validationFailed && error?.field == "pushToken")
        expect(scene.transport.requests.isEmpty)
        try await expect(scene.messages.registerDevice(.fcm(String(repeating: "x", count: 1_024))))
    }

    @Test func `before the user is known it waits for the first connection, and the newest token wins`() async throws {
        let scene = Scene(token: { throw PresenceError(.unauthorized, "nobody is signed in") })
        scene.transport.respond(Self.done)
        try await expect(scene.messages.registerDevice(.fcm("a")), equals: false)
        try await expect(scene.messages.registerDevice(.fcm("b")), equals: false)
        expect(scene.transport.requests.isEmpty)
        await scene.client.switchUser { "t" }
        await scene.connected()
        await expect(Self.hasSent(scene, 1), equals: ["PUT b t"])
    }

    @Test func `a failed registration is retried after a growing delay, and on the next connection`() async throws {
        let scene = await Self.connected()
        scene.transport.respond(Self.gone)
        try await expect(scene.messages.registerDevice(.fcm("a")), equals: false)
        for (count, pause) in [(2, 2), (3, 4), (4, 8)] {
            await scene.clock.sleepers()
            scene.clock.advance(by: .seconds(pause) - .milliseconds(1))
            expect(scene.transport.requests.count, equals: count - 1)
            scene.clock.advance(by: .milliseconds(1))
            _ = await Self.hasSent(scene, count)
        }
        scene.transport.respond { _ in .error(429, "rate_limited", retryAfter: 400_000) }
        await scene.clock.sleepers()
        scene.clock.advance(by: .seconds(16))
        _ = await Self.hasSent(scene, 5)
        // After the delay that the server named.
        await scene.clock.sleepers()
        scene.clock.advance(by: .seconds(300))
        expect(scene.transport.requests.count, equals: 5)

        scene.transport.respond(Self.done)
        scene.server.cutAll()
        await expect(Self.hasSent(scene, 6).last, equals: "PUT a t")
        // The former pause no longer has an effect.
        scene.clock.advance(by: .seconds(200))
        try await expect(scene.messages.removeDevice())
        expect(scene.transport.requests.count, equals: 7)
    }

    @Test func `a rejection by the server is reported once`() async throws {
        let scene = await Self.connected()
        scene.transport.respond { _ in .error(422, "validation_failed", message: "no") }
        let error = await #expect(throws: PresenceError.self) { try await scene.messages.registerDevice(.fcm("a")) }
        expect(error?.code, equals: .validationFailed)
        scene.transport.respond(Self.done)
        await reconnected(scene)
        try await expect(scene.messages.registerDevice(.fcm("b")))
        expect(Self.sent(scene), equals: ["PUT a t", "PUT b t"])
    }

    @Test func `it is told again when the token is another one, and not with each connection`() async throws {
        let scene = await Self.connected(Scene(token: Self.counted()))
        try await expect(scene.messages.registerDevice(.fcm("a")))
        await reconnected(scene)
        await scene.messages.hasToldDevice()
        expect(Self.sent(scene), equals: ["PUT a t1"])
        scene.server.refuse("connect", ["code": "unauthorized"])
        scene.server.cutAll()
        await expect(Self.hasSent(scene, 2), equals: ["PUT a t1", "PUT a t2"])
    }

    @Test func `a rejected token is replaced once`() async throws {
        let scene = await Self.connected(Scene(token: Self.counted()))
        scene.transport.respond { request in
            request.headers["Authorization"] == "Bearer t1" ? .error(401, "unauthorized") : HTTPResponse(status: 204)
        }
        try await expect(scene.messages.registerDevice(.fcm("a")))
        await reconnected(scene)
        expect(Self.sent(scene), equals: ["PUT a t1", "PUT a t2"])
        // With the token of the session that registered it.
        await scene.client.signOut()
        await expect(Self.hasSent(scene, 3).last, equals: "DELETE t2")
        let fixed = await Self.connected()
        fixed.transport.respond { _ in .error(401, "unauthorized") }
        try await expect(fixed.messages.registerDevice(.fcm("a")), equals: false, "another session may come")
    }

    @Test func `a change of user moves the device from the former one to the next`() async throws {
        let scene = await Self.connected(Scene(token: { "ana" }))
        try await expect(scene.messages.registerDevice(.fcm("a")))
        await scene.client.switchUser { "bob" }
        await scene.connected()
        await expect(Self.hasSent(scene, 3), equals: ["PUT a ana", "DELETE ana", "PUT a bob"])
    }

    @Test func `a removal is sent once, for the user who made it`() async throws {
        let scene = await Self.connected(Scene(token: Self.counted()))
        try await expect(scene.messages.registerDevice(.fcm("a")))
        try await expect(scene.messages.removeDevice())
        scene.server.refuse("connect", ["code": "unauthorized"])
        await reconnected(scene)
        expect(Self.sent(scene), equals: ["PUT a t1", "DELETE t1"], "another device may be registered by now")
        scene.transport.respond(Self.gone)
        try await expect(scene.messages.removeDevice(), equals: false)
        scene.transport.respond(Self.done)
        let former = await scene.messages.generation
        await scene.client.switchUser { "bob" }
        await scene.connected()
        // The sign-out and the connection.
        while await scene.messages.generation < former + 2 { await Task.yield() }
        try await expect(scene.messages.registerDevice(.fcm("b")))
        expect(Self.sent(scene).suffix(2), equals: ["DELETE t2", "PUT b bob"])
    }

    @Test func `a user who signs out during the registration gets no pushes here`() async throws {
        let scene = await Self.connected()
        let (arrivals, arrive) = AsyncStream.makeStream(of: Void.self)
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        scene.transport.respond { request in
            if request.method == "PUT" {
                arrive.yield()
                for await _ in gate { break }
            }
            return HTTPResponse(status: 204)
        }
        async let isTold = scene.messages.registerDevice(.fcm("a"))
        for await _ in arrivals { break }
        await scene.client.signOut()
        await scene.messages.hasNoUser()
        open.yield()
        try await expect(isTold, equals: false)
        await expect(Self.hasSent(scene, 2), equals: ["PUT a t", "DELETE t"])
    }

    /// Breaks the connection, and waits for the next one and its effects.
    private func reconnected(_ scene: Scene) async {
        let former = await scene.messages.generation
        scene.server.cutAll()
        while await scene.messages.generation == former { await Task.yield() }
        await scene.messages.hasToldDevice()
    }
}

extension PresenceMessenger {
    /// Waits until no registration is being sent.
    fileprivate func hasToldDevice() async {
        _ = await push.last?.result
    }

    fileprivate func hasNoUser() async {
        while own != nil { await Task.yield() }
    }
}
