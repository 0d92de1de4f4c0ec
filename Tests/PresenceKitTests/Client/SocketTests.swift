import CLibWebSockets
import Expectations
import Foundation
import PresenceProtocol
import Testing
import WebSockets

@testable import PresenceKit

/// The client as an app makes it, over real sockets.
@Suite(.timeLimit(.minutes(1))) struct SocketTests {
    /// Short delays, so that a reconnect takes hardly any time.
    private static func client(
        _ url: URL, base: Duration = .milliseconds(5), token: @escaping PresenceClient.TokenProvider = { "t" }
    ) -> PresenceClient {
        var configuration = PresenceClient.Configuration()
        configuration.reconnectBase = base
        configuration.reconnectCap = .milliseconds(20)
        return PresenceClient(url: url, token: token, configuration: configuration)
    }

    private func state(
        of client: PresenceClient, _ isIt: (ConnectionState) -> Bool
    ) async -> ConnectionState? {
        for await state in client.connectionStates where isIt(state) { return state }
        return nil
    }

    @Test func `a loop receives a change, with its latency`() async throws {
        try await withSocketServer { server in
            let client = Self.client(server.url)
            var loop = client.presence(of: "bob").makeAsyncIterator()
            async let first = loop.next()
            let peer = await server.welcome()
            await expect(server.subscribe(.online("bob", 1))?.users, equals: ["bob"])
            await expect(first?.isOnline, equals: true)
            server.send(.event("bob", 2, .busy, at: Int64(Date().timeIntervalSince1970 * 1_000)), to: peer)
            let busy = await loop.next()
            expect(busy?.status, equals: .busy)
            let latency = try #require(busy?.changeLatency)
            expect(latency < .seconds(30))
            await client.disconnect()
        }
    }

    @Test func `a disconnect says goodbye and closes with 1000`() async throws {
        try await withSocketServer { server in
            let client = Self.client(server.url)
            client.connect()
            let peer = await server.welcome()
            _ = await state(of: client) { $0 == .live }
            await client.disconnect()
            await expect(server.message().message.body, equals: .disconnect)
            let (closed, closure) = await server.closed()
            expect(closed, equals: peer)
            expect(closure, equals: .byPeer(code: 1000, reason: ""))
        }
    }

    @Test(arguments: [1001, 1011, 1012, 1013, 4001, 4002, 4005] as [UInt16])
    func `after some close codes it reconnects and subscribes with its known versions`(code: UInt16) async throws {
        try await withSocketServer { server in
            let client = Self.client(server.url)
            var loop = client.presence(of: "bob").makeAsyncIterator()
            async let first = loop.next()
            let peer = await server.welcome()
            await server.subscribe(.online("bob", 7))
            _ = await first
            server.close(peer, code: code, reason: #"{"reconnectAfter":3}"#)
            await expect(loop.next()?.freshness.staleSince != nil)
            await server.welcome()
            await expect(server.subscribe()?.known, equals: ["bob": .init(presence: 7)])
            await expect(loop.next()?.freshness, equals: .live)
            await client.disconnect()
        }
    }

    @Test(
        arguments: [
            (1003, .protocolViolation), (1007, .protocolViolation), (1008, .protocolViolation),
            (1009, .protocolViolation), (4004, .replaced), (4006, .disconnectedByAdministrator),
        ] as [(UInt16, PresenceError.Code)])
    func `after other codes it stays closed and reports why`(code: UInt16, reason: PresenceError.Code) async throws {
        try await withSocketServer { server in
            let client = Self.client(server.url)
            client.connect()
            let peer = await server.welcome()
            server.close(peer, code: code)
            guard case .closed(let error?) = await state(of: client, { $0.isClosed }) else {
                Issue.record("not closed")
                return
            }
            expect(error.code, equals: reason)
        }
    }

    @Test func `a broken connection is made again`() async throws {
        try await withSocketServer { server in
            let client = Self.client(server.url)
            client.connect()
            for _ in 0..<5 {
                let peer = await server.welcome()
                _ = await state(of: client) { $0 == .live }
                server.abort(peer)
                _ = await state(of: client) { !$0.isConnected }
            }
            await server.welcome()
            _ = await state(of: client) { $0 == .live }
            await client.disconnect()
        }
    }

    @Test func `a server that starts later is found`() async throws {
        let port: Int
        do {
            let probe = try SocketServer()
            port = probe.port
            probe.stop()
        }
        let client = Self.client(URL(string: "ws://127.0.0.1:\(port)/v1/ws")!)
        client.connect()
        guard
            case .reconnecting(_, let why) = await state(
                of: client, { if case .reconnecting = $0 { true } else { false } })
        else { return }
        expect(why.code, equals: .connectionLost)
        try await withSocketServer(port: port) { server in
            await server.welcome()
            _ = await state(of: client) { $0 == .live }
            await client.disconnect()
        }
    }

    @Test func `an upgrade is retried whatever its HTTP status`() async throws {
        try await withSocketServer(refuse: [503, 429, 404, 401, 401, 401, 403]) { server in
            let client = Self.client(server.url)
            let greeting = Task {
                guard let (peer, message) = await server.messageUnlessCancelled() else { return }
                server.accept(message, from: peer)
            }
            client.connect()
            await expect(state(of: client) { $0 == .live || $0.isClosed }, equals: .live)
            greeting.cancel()
            await client.disconnect()
        }
    }

    @Test func `the server's pings are signs of life, and their absence ends the connection`() async throws {
        try await withSocketServer { server in
            let time = TestTime()
            let client = PresenceClient(
                url: server.url, token: { "t" }, device: Device(), configuration: .init(), storage: .memory(),
                dialler: LoopDialler(), time: time)
            client.connect()
            let peer = await server.welcome()
            _ = await state(of: client) { $0 == .live }
            for _ in 0..<2 {
                time.advance(by: .seconds(29))
                while await client.runner.lastHeard != time.now.uptime {
                    server.ping(peer)
                    await server.heard()
                }
            }
            await expect(client.connectionState, equals: .live)
            time.advance(by: .seconds(30))
            let (closed, closure) = await server.closed()
            expect(closed, equals: peer)
            expect(closure, equals: .lost)
            time.advance(by: .seconds(1))
            await server.welcome()
            await client.disconnect()
        }
    }

    @Test func `binary messages and bad UTF-8 lead to a new connection`() async throws {
        for frame in [[0x82, 1, 0x7b], [0x81, 2, 0xc3, 0x28]] as [[UInt8]] {
            try await withSocketServer { server in
                let client = Self.client(server.url)
                client.connect()
                let peer = await server.welcome()
                _ = await state(of: client) { $0 == .live }
                server.send(frame, to: peer)
                await server.welcome()
                await client.disconnect()
            }
        }
    }

    @Test func `a roster of ten thousand arrives in parts and is kept current`() async throws {
        try await withSocketServer { server in
            let client = Self.client(server.url)
            let users = (0..<10_000).map { "user-\($0)" }
            var loop = client.roster(of: users).makeAsyncIterator()
            async let first = loop.next()
            let peer = await server.welcome()
            for _ in 0..<10 {
                let (peer, message) = await server.message()
                guard case .subscribe(let subscribe) = message.body else {
                    Issue.record("no subscribe")
                    return
                }
                expect(subscribe.users.count, equals: 1_000)
                let halves = [subscribe.users.prefix(500), subscribe.users.suffix(500)]
                for (index, half) in halves.enumerated() {
                    let answer = half.map { UserSnapshot.online($0, 1, name: "somebody") }
                    server.send(
                        .subscribed(id: message.id, users: answer, conversations: [], more: index == 0), to: peer)
                }
            }
            var roster = await first
            while roster?.isComplete == false { roster = await loop.next() }
            expect(roster?.online.count, equals: 10_000)
            server.send(.event("user-77", 2, .offline), to: peer)
            repeat { roster = await loop.next() } while roster?["user-77"]?.isOnline == true
            expect(roster?.online.count, equals: 9_999)
            await client.disconnect()
        }
    }

    @Test func `a thousand changes arrive in order, the last one last`() async throws {
        try await withSocketServer { server in
            let client = Self.client(server.url)
            var loop = client.presence(of: "bob").makeAsyncIterator()
            async let first = loop.next()
            let peer = await server.welcome()
            await server.subscribe(.online("bob", 1))
            var last = await first
            let frames = (2...1_000).flatMap { WebSocketFrame.text(ServerMessage.event("bob", $0).encoded()) }
            server.send(frames, to: peer)
            while let version = last?.version, version < 1_000 {
                let next = await loop.next()
                expect(next.map { $0.version > version }, equals: true)
                last = next
            }
            await client.disconnect()
        }
    }

    @Test func `the logger receives errors of libwebsockets`() async throws {
        let (lines, line) = AsyncStream.makeStream(of: String.self)
        try await withSocketServer { server in
            let client = PresenceClient(
                url: server.url, token: { "t" },
                logger: PresenceLogger { level, message in line.yield("\(level) \(message)") })
            client.connect()
            await server.welcome()
            // Reports an error as libwebsockets does.
            lwsl_hexdump_level(Int32(LLL_ERR), "a fault", 7)
            await client.disconnect()
        }
        line.finish()
        await expect(lines.contains { $0.hasPrefix("error libwebsockets: ") })
    }

    @Test func `all clients of a process share one loop`() async throws {
        try await withSocketServer { server in
            let clients = (0..<50).map { _ in Self.client(server.url) }
            for client in clients { client.connect() }
            for _ in clients { await server.welcome() }
            for client in clients { _ = await state(of: client) { $0 == .live } }
            await withTaskGroup(of: Void.self) { group in
                for client in clients { group.addTask { await client.disconnect() } }
            }
        }
    }
}
