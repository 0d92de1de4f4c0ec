import EventLoops
import Expectations
import Foundation
import Testing

@testable import OutgoingHTTP

/// Calls over connections that stay open on a loop.
@Suite struct KeptClientTests {
    private struct Echo: Decodable {
        let method: String
        let headers: [String]
        let body: String
    }

    @Test(arguments: ["http", "https"]) func `calls share a connection`(server: String) async throws {
        let servers = try await Servers()
        let client = try Kept(servers, "/echo?a=b", server)
        for text in ["one", "", String(repeating: "x", count: 300_000)] {
            let answer = try await client.post("x-custom: a b\r\n", text).get()
            let echo = try JSONDecoder().decode(Echo.self, from: Data(answer.body))
            expect(answer.status == 200 && echo.method == "POST")
            expect(echo.body, equals: text.utf8.map { String(format: "%02x", $0) }.joined())
            expect(echo.headers.contains("x-custom: a b") && echo.headers.contains("user-agent: test/1"))
            expect(echo.headers.contains("content-length: \(text.utf8.count)"))
            expect(
                echo.headers.contains("host: \(server == "http" ? "127.0.0.1" : "localhost"):\(servers.port(server))"))
        }
        try await expect(servers.connections, equals: 1)
    }

    @Test func `every status is an answer`() async throws {
        let servers = try await Servers()
        for status in [204, 404, 410, 429, 500, 503] {
            try await expect(Kept(servers, "/status/\(status)").post().get().status, equals: status)
        }
        try await expect(Kept(servers, "/redirect").post().get().status, equals: 302)
        try await expect(servers.count("arrived POST /echo"), equals: 0)
    }

    @Test(
        arguments: [
            ("/midway", .broken), ("/garbage", .broken), ("/chunks", .broken), ("/nothing", .broken),
            ("/endless", .tooLarge),
            ("/headers", .tooLarge), ("/bytes/1001", .tooLarge), ("/never", .timeout), ("/slow", .timeout),
            ("/begun", .timeout),
        ] as [(String, OutgoingFailure)])
    func `an answer that is none is a failure`(path: String, failure: OutgoingFailure) async throws {
        let servers = try await Servers()
        let client = try Kept(servers, path, patience: failure == .timeout ? 400 : 15_000, mostBytes: 1_000)
        for _ in 0..<2 {
            guard case .failure(failure) = await client.post() else {
                Issue.record("\(path) has an answer")
                return
            }
        }
        // Each on a connection of its own. (On a slow machine the time may be over before there is one.)
        if failure != .timeout { try await expect(servers.connections, equals: 2) }
    }

    @Test func `an answer longer than its length ends at its length`() async throws {
        let servers = try await Servers()
        let client = try Kept(servers, "/more")
        for _ in 0..<2 { try await expect(client.post().get().body, equals: Array("01234".utf8)) }
        try await expect(servers.connections, equals: 2)
    }

    @Test func `another certificate, another name and no TLS are not trusted`() async throws {
        let servers = try await Servers()
        for (server, host) in [("named", "localhost"), ("http", "127.0.0.1")] {
            var url = servers.url("/echo", server, host: host)
            if server == "http" { url = url.replacing("http:", with: "https:") }
            guard case .failure(.untrusted) = try await Kept(url, servers).post() else {
                Issue.record("\(url) is trusted")
                return
            }
        }
        let other = try Kept(servers.url("/echo", "https", host: "localhost"), servers, authority: "other.pem")
        await expect(other.failure(), equals: .untrusted)
        try await expect(servers.count("arrived POST /echo"), equals: 0)
    }

    @Test func `places are shared, and further calls wait or are refused`() async throws {
        let servers = try await Servers()
        let places = CallPlaces(2, mostWaiting: 3)
        let clients = try (0..<2).map { _ in try Kept(servers, "/hold", places: places) }
        let calls = (0..<8).map { number in Task { await clients[number % 2].post() } }
        while clients.map(\.posted).reduce(0, +) < 8 { await Task.yield() }
        await servers.heard("arrived POST /hold", 2)
        let most = try await OutgoingClient().send(servers.request("/release"))
        var outcomes: [Bool: Int] = [:]
        for call in calls {
            switch await call.value {
            case .success: outcomes[true, default: 0] += 1
            case .failure(let failure):
                expect(failure.reason, equals: "overloaded")
                outcomes[false, default: 0] += 1
            }
        }
        expect(outcomes == [true: 5, false: 3] && most.body == Array("2".utf8))
        // All places are free again.
        try await expect(clients[0].post().get().status, equals: 200)
    }

    @Test func `while a server cannot be reached, some calls wait for the next attempt`() async throws {
        let servers = try await Servers()
        let client = try Kept(servers, "/echo", "dead")
        for _ in 0..<3 { await expect(client.failure(), equals: .unreachable) }
        let calls = (0..<60).map { _ in Task { await client.failure() } }
        for call in calls { await expect(call.value, equals: .unreachable) }
        expect(client.numbers.most <= 8)
    }

    @Test func `a call whose connection is closed before any answer is made again`() async throws {
        let servers = try await Servers()
        let client = try Kept(servers, "/once")
        for _ in 0..<3 { try await expect(client.post().get().status, equals: 200) }
        try await expect(servers.connections, equals: 3)
        try await expect(servers.count("arrived POST /once"), equals: 5)
    }

    @Test func `calls that wait for a connection get their own answers, one after the other`() async throws {
        let servers = try await Servers()
        let client = try Kept(servers, "/echo", opensOnce: true)
        let calls = (0..<20).map { number in Task { try await client.post("", "call \(number)").get() } }
        for (number, call) in calls.enumerated() {
            let echo = try JSONDecoder().decode(Echo.self, from: Data(try await call.value.body))
            expect(echo.body, equals: "call \(number)".utf8.map { String(format: "%02x", $0) }.joined())
        }
        try await expect(servers.connections, equals: 1)
    }

    @Test func `an answer without a call is not that of the next one`() async throws {
        let servers = try await Servers()
        let client = try Kept(servers, "/late")
        for number in 1...3 {
            try await expect(client.post().get().status, equals: 200)
            await servers.heard("late", number)
        }
        try await expect(servers.connections, equals: 3)
    }

    @Test func `loops have no more connections together than places`() async throws {
        let servers = try await Servers()
        let places = CallPlaces(1, mostWaiting: 4)
        let clients = try (0..<2).map { _ in try Kept(servers, "/echo", places: places) }
        for number in 0..<6 { try await expect(clients[number % 2].post().get().status, equals: 200) }
        // Each connection ended the one before.
        try await expect(servers.connections, equals: 6)
        await servers.heard("closed", 5)
    }

    @Test func `a client that stops ends its calls`() async throws {
        let servers = try await Servers()
        let client = try Kept(servers, "/never")
        let call = Task { await client.failure() }
        await servers.heard("arrived POST /never")
        client.stop()
        await expect(call.value, equals: .stopped)
        await expect(client.failure(), equals: .stopped)
    }
}

/// A client on a loop of its own.
private final class Kept: Sendable {
    private let loop: EventLoop
    private let client: KeptClient
    private let counts = Locked((posted: 0, most: 0))

    /// - Parameter host: `localhost` with TLS: the certificate is for it.
    convenience init(
        _ servers: Servers, _ path: String, _ server: String = "http",
        places: CallPlaces = CallPlaces(32, mostWaiting: 128),
        patience: Int64 = 15_000, mostBytes: Int = 1_000_000, opensOnce: Bool = false
    ) throws {
        let host = server == "https" ? "localhost" : "127.0.0.1"
        try self.init(
            servers.url(path, server, host: host), servers, places: places, patience: patience, mostBytes: mostBytes,
            opensOnce: opensOnce)
    }

    init(
        _ url: String, _ servers: Servers, places: CallPlaces = CallPlaces(32, mostWaiting: 128),
        patience: Int64 = 15_000,
        mostBytes: Int = 1_000_000, authority: String = "authority.pem",
        opensOnce: Bool = false
    ) throws {
        let loop = try EventLoop(name: "calls")
        let opened = Locked(0)
        client = try KeptClient(
            loop, url: url, userAgent: "test/1", tls: OutgoingTLS(authorities: servers.file(authority)),
            places: places, patience: patience, mostBytes: mostBytes
        ) { open, done in
            let done = Done(call: done)
            let isFirst = opened.withLock { opened in
                defer { opened += 1 }
                return opened == 0
            }
            guard isFirst || !opensOnce else { return }
            QuietThread(name: "open") {
                let opening = open()
                loop.execute { done.call(opening) }
            }.detach()
        }
        self.loop = loop
        loop.start()
    }

    deinit {
        let client = client
        loop.execute { client.stop() }
        loop.stop()
        loop.join()
    }

    /// Calls so far, and the most that ran or waited at once.
    var numbers: (posted: Int, most: Int) { counts.withLock { $0 } }
    var posted: Int { numbers.posted }

    func post(_ headers: String = "", _ body: String = "") async -> KeptClient.Outcome {
        await withCheckedContinuation { continuation in
            loop.execute { [self] in
                client.post(headers, Array(body.utf8)) { continuation.resume(returning: $0) }
                counts.withLock { $0 = ($0.posted + 1, max($0.most, client.running)) }
            }
        }
    }

    func failure() async -> OutgoingFailure? {
        if case .failure(let failure) = await post() { failure } else { nil }
    }

    func stop() {
        let client = client
        loop.execute { client.stop() }
    }

    // @unchecked: called on the loop only.
    private struct Done: @unchecked Sendable {
        let call: (KeptClient.Opening) -> Void
    }
}
