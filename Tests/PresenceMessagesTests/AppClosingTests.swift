import EventLoops
import Expectations
import Foundation
import TestSupport
import Testing

@testable import PresenceAccounts
@testable import PresenceKit
@testable import PresenceMessages
@testable import PresenceTesting

/// A closed app ends.
@Suite(.timeLimit(.minutes(1))) struct AppClosingTests {
    private let scene = AppScene()

    @Test func `nothing of a closed app runs`() async throws {
        let silent = SilentServer()
        let transport = FakeHTTPTransport { request in
            let isSignIn = request.url.path.hasSuffix("/v1/sessions") && request.method == "POST"
            return isSignIn ? try await AppScene.transport.send(request, progress: nil) : try await silent.answer()
        }
        let app = scene.app(transport: transport)
        try await scene.signIn("ana", app)
        await scene.states(app) { $0 == .live }
        // An upload, a device, a renewal and a call of the account, a delayed retry, and loops.
        let failures = [
            Task { for try await _ in app.messages.upload(AttachmentFile(Data("a".utf8)), to: "c1") {} },
            Task { _ = try await app.messages.registerDevice(.fcm("t")) },
            Task { _ = try await app.account.refresh() },
            Task { _ = try await app.account.availability(ofUsername: "ana") },
        ]
        while silent.waiting < failures.count { await Task.yield() }
        for _ in 0..<5 { scene.server.refuse("subscribe", ["code": "rate_limited", "retryAfter": 5_000]) }
        let loops = [
            Task { for await _ in app.messages.conversationList {} },
            Task { for await _ in app.messages.messages(in: "c1") {} },
            Task { for await _ in app.messages.waiting {} },
            Task { for await _ in app.messages.refusedChanges {} },
            Task { for await _ in app.notifications.inbox {} },
            Task { for await _ in app.account.states {} },
        ]
        await scene.clock.sleepers()
        await app.close()
        expect(silent.waiting, equals: 0)
        for failure in failures {
            let error = await #expect(throws: PresenceError.self) { try await failure.value }
            expect(error?.code == .notConnected || error?.code == .connectionLost)
        }
        for loop in loops { await loop.value }
        // Also those that begin afterwards.
        for await _ in app.messages.conversationList {}
        for await _ in app.messages.messages(in: "c1") {}
        for await _ in app.notifications.inbox {}
        let error = await #expect(throws: PresenceError.self) { try await app.messages.send("too late", in: "c1") }
        expect(error, equals: .clientClosed)
        expect(scene.sessions.session?.account.id, equals: "ana")
    }
}

/// A server that answers nothing, and counts the requests that wait.
private final class SilentServer: Sendable {
    private let count = Locked(0)
    var waiting: Int { count.withLock { $0 } }

    func answer() async throws -> HTTPResponse {
        count.withLock { $0 += 1 }
        defer { count.withLock { $0 -= 1 } }
        try await Task.sleep(for: .seconds(3_600))
        return HTTPResponse(status: 500)
    }
}
