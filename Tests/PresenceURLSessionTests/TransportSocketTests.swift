import Expectations
import Foundation
import Testing

@testable import PresenceKit

/// Transports with a real socket: messages arrive, and a close arrives with its code and reason.
@Suite(.timeLimit(.minutes(1))) struct TransportSocketTests {
    /// Connects, sends one message, and returns all reported events.
    private static func talk(_ dialler: any Dialler) async throws -> [TransportEvent] {
        let server = try LocalWebSocketServer()
        let (stream, events) = AsyncStream.makeStream(of: TransportEvent.self)
        let url = URL(string: "ws://127.0.0.1:\(server.port)/v1/ws")!
        let transport = dialler.dial(url, subprotocol: "presence.v1") { events.yield($0) }
        var heard: [TransportEvent] = []
        for await event in stream where event != .alive {
            heard.append(event)
            if event == .opened { transport.send(Array("hello".utf8)) }
            if case .ended = event { break }
        }
        return heard
    }

    private static let expected: [TransportEvent] = [
        .opened, .received(Array("hello".utf8)), .ended(.closed(code: 4001, reason: Array("bye".utf8))),
    ]

    /// Apple's Foundation has WebSockets. On Linux it has only their API, because its libcurl is built without them.
    private static var foundationHasWebSocket: Bool {
        #if canImport(Darwin)
            true
        #else
            false
        #endif
    }

    @Test(.enabled(if: foundationHasWebSocket, "not run: Foundation has no WebSocket on this system"))
    func `URLSession's transport works with a server`() async throws {
        let heard = try await Self.talk(URLSessionDialler())
        expect(heard, equals: Self.expected)
    }

    #if os(Linux)
        @Test func `libwebsockets' transport works with the same server`() async throws {
            let heard = try await Self.talk(LoopDialler())
            expect(heard, equals: Self.expected)
        }
    #endif

    @Test(arguments: [
        ("abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", "84983e441c3bd26ebaae4aa1f95129e5e54670f1"
        ),
    ])
    func `the handshake's digest matches the known one`(text: String, digest: String) {
        let hex = SHA1.digest(Array(text.utf8)).map { String(UInt16($0) + 256, radix: 16).dropFirst() }.joined()
        expect(hex, equals: digest)
    }
}
