import Expectations
import Foundation
import PresenceKit
import PresenceTesting
import TestSupport
import Testing

@testable import PresenceAccounts

/// The same over real sockets, with a server that is slow, broken or not running.
@Suite(.timeLimit(.minutes(1))) struct SocketTests {
    private let model = ModelServer()

    private func account(
        at url: URL, kept: StoredSession? = nil, timeout: Duration = .seconds(30)
    ) -> PresenceAccount {
        var configuration = PresenceAccount.Configuration()
        configuration.requestTimeout = timeout
        return PresenceAccount(url: url, store: FakeTokenStore(kept), configuration: configuration)
    }

    @Test func `a user signs up, changes things, and signs out`() async throws {
        let server = try ScriptedServer { [model] in .answer(model.handle($0)) }
        let account = account(at: server.url)
        try await account.signUp(email: "ana@example.org", password: "correct horse")
        try await expect(account.update(ProfileChanges(displayName: "Ana")).displayName, equals: "Ana")
        try await account.claimUsername("Ana.B")
        try await expect(account.availability(ofUsername: "bob"), equals: .taken)
        try await account.deleteAccount(password: "correct horse")
        expect(account.stateFeed.current, equals: .signedOut(.accountDeleted))
        expect(model.lines.last == "DELETE /v1/me" && model.body("DELETE /v1/me")?["password"] != nil)
    }

    @Test func `a renewal whose response is lost is repeated, and no user is signed out`() async throws {
        let lost = Counter()
        let server = try ScriptedServer { [model] request in
            let answer = model.handle(request)
            return request.url.path.hasSuffix("refresh") && lost.next() == 1 ? .hangUp : .answer(answer)
        }
        let account = account(at: server.url, kept: Bench.kept)
        await account.reaches { $0 == .signedIn(Bench.ana, .live) }
        expect(model.count("POST /v1/sessions/refresh"), equals: 2)
    }

    @Test func `a request that is not repeated has an unknown outcome`() async throws {
        let server = try ScriptedServer { [model] in
            _ = model.handle($0)
            return .hangUp
        }
        let account = account(at: server.url)
        let error = await #expect(throws: PresenceError.self) {
            try await account.signIn(email: "ana@example.org", password: "correct horse")
        }
        expect(error?.code == .connectionLost && error?.outcomeUnknown == true)
        expect(error?.localizedDescription, equals: "Network error. Please check your connection.")
        expect(model.count("POST /v1/sessions"), equals: 1)
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{\"us",
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{\"user\":1",
        "HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n<html>Hi</html>",
        "nonsense\r\n\r\n",
        "HTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n",
    ])
    func `a malformed response is a network error, and signs no user out`(text: String) async throws {
        let server = try ScriptedServer { _ in .raw(text) }
        let account = account(at: server.url, kept: Bench.kept)
        let error = await #expect(throws: PresenceError.self) { try await account.refresh() }
        expect(error?.localizedDescription, equals: "Network error. Please check your connection.")
        expect(account.stateFeed.current, equals: .signedIn(Bench.ana, .stale(since: Bench.kept.savedAt)))
    }

    @Test func `a missing response times out`() async throws {
        let server = try ScriptedServer { _ in .silence }
        let account = account(at: server.url, timeout: .milliseconds(300))
        let error = await #expect(throws: PresenceError.self) {
            try await account.signIn(email: "ana@example.org", password: "correct horse")
        }
        expect(error?.code == .connectionLost && error?.outcomeUnknown == true)
    }

    @Test func `a request that timed out is not repeated, which would take as long again`() async throws {
        let requests = Counter()
        let server = try ScriptedServer { _ in
            _ = requests.next()
            return .silence
        }
        let account = account(at: server.url, kept: Bench.kept, timeout: .seconds(2))
        let error = await #expect(throws: PresenceError.self) { try await account.refresh() }
        expect(error?.code, equals: .connectionLost)
        expect(requests.count, equals: 1)
    }

    @Test func `a server that cannot be reached did not get the request`() async throws {
        let account = account(at: URL(string: "http://127.0.0.1:\(try FreePort.find())")!, kept: Bench.kept)
        let error = await #expect(throws: PresenceError.self) { try await account.refresh() }
        expect(error?.code == .notConnected && error?.outcomeUnknown == false)
        expect(account.stateFeed.current.account, equals: Bench.ana)
    }

    @Test func `a busy server names the delay before a retry`() async throws {
        let server = try ScriptedServer { _ in .answer(.error(503, "unavailable", retryAfter: 1_500)) }
        let account = account(at: server.url)
        let error = await #expect(throws: PresenceError.self) {
            try await account.signIn(email: "ana@example.org", password: "correct horse")
        }
        expect(error?.code == .unavailable && error?.retryAfter == .milliseconds(1_500))
    }

    @Test func `a connection that the server closed meanwhile is replaced`() async throws {
        let server = try ScriptedServer { [model] request in
            let response = model.handle(request)
            let body = String(decoding: response.body, as: UTF8.self)
            return .raw("HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
        }
        let account = account(at: server.url, kept: Bench.kept)
        for _ in 0..<20 { try await expect(account.currentUser().id, equals: "u-1") }
    }

    @Test func `a redirect is not followed, so that no other server gets the token`() async throws {
        let other = Counter()
        let elsewhere = try ScriptedServer { _ in
            _ = other.next()
            return .answer(.json("{}"))
        }
        let server = try ScriptedServer { [model] request in
            guard request.url.path == "/v1/me" else { return .answer(model.handle(request)) }
            return .answer(HTTPResponse(status: 307, headers: ["Location": "\(elsewhere.url)/v1/me"]))
        }
        let account = account(at: server.url, kept: Bench.kept)
        let error = await #expect(throws: PresenceError.self) { try await account.currentUser() }
        expect(error?.code == .notAnAnswer && other.count == 0)
    }

    @Test func `an endless response is aborted`() async throws {
        let long = String(repeating: "x", count: (1 << 20) + 1)
        let server = try ScriptedServer { _ in .answer(.json(long)) }
        let transport = URLSessionHTTPTransport()
        let request = HTTPRequest(method: "GET", url: server.url.appendingPathComponent("x"))
        await #expect(throws: HTTPFailure.self) { try await transport.send(request, progress: nil) }
    }

    @Test func `a picture's progress grows, and ends with all of it`() async throws {
        let server = try ScriptedServer { [model] in .answer(model.handle($0)) }
        let account = account(at: server.url, kept: Bench.kept)
        let picture = Data([0xFF, 0xD8, 0xFF] + [UInt8](repeating: 1, count: 5_000_000))
        var parts: [Double] = []
        for try await step in account.uploadPhoto(picture) {
            if case .progress(let part) = step { parts.append(part) }
        }
        expect(parts == parts.sorted() && parts.last == 1 && parts.count > 2)
        expect(model.lines.last, equals: "PUT /v1/me/photo")
    }

    @Test func `an upload that is cancelled ends, and the next one works`() async throws {
        let (began, begin) = AsyncStream.makeStream(of: Void.self)
        let uploads = Counter()
        let server = try ScriptedServer { [model] request in
            guard request.method == "PUT", uploads.next() == 1 else { return .answer(model.handle(request)) }
            begin.yield()
            return .silence
        }
        let account = account(at: server.url, kept: Bench.kept)
        let picture = Data([0xFF, 0xD8, 0xFF, 1])
        let upload = Task { () -> Upload<Photo>? in
            var last: Upload<Photo>?
            for try await step in account.uploadPhoto(picture) { last = step }
            return last
        }
        for await _ in began { break }
        upload.cancel()
        if case .success(.saved) = await upload.result { Issue.record("it was cancelled") }
        var last: Upload<Photo>?
        for try await step in account.uploadPhoto(picture) { last = step }
        guard case .saved = last else {
            Issue.record("\(String(describing: last))")
            return
        }
    }

    @Test func `a hundred requests at once over real sockets lead to one renewal`() async throws {
        let server = try ScriptedServer { [model] in .answer(model.handle($0)) }
        let account = account(at: server.url, kept: Bench.kept)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<100 { group.addTask { _ = try await account.currentUser() } }
            try await group.waitForAll()
        }
        expect(model.count("POST /v1/sessions/refresh") == 1 && model.count("GET /v1/me") == 100)
    }

    /// @unchecked: `number` is only touched with the lock.
    private final class Counter: @unchecked Sendable {
        private let lock = NSLock()
        private var number = 0
        var count: Int { lock.withLock { number } }
        func next() -> Int {
            lock.withLock {
                number += 1
                return number
            }
        }
    }
}
