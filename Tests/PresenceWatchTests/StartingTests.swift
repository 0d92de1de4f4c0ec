import Expectations
import Foundation
import PresenceKit
import TerminalClients
import Testing

@testable import presence_watch

struct StartingTests {
    @Test(arguments: [
        ("ws://127.0.0.1:4040/v1/ws", "ws://127.0.0.1:4040/v1/ws", "127.0.0.1:4040"),
        ("ws://localhost:4040", "ws://localhost:4040/v1/ws", "localhost:4040"),
        ("wss://presence.example.org/", "wss://presence.example.org/v1/ws", "presence.example.org"),
        ("wss://example.org/behind/proxy", "wss://example.org/behind/proxy", "example.org"),
    ])
    func `an address may omit the usual path`(_ text: String, _ url: String, _ short: String) throws {
        let address = try ServerAddress(text)
        expect(address.url.absoluteString, equals: url)
        expect(address.shortText, equals: short)
    }

    @Test(arguments: ["", "localhost:4040", "http://localhost", "ws://", "ws:///v1/ws", "ws://a b"])
    func `an invalid address is rejected`(_ text: String) {
        #expect(throws: Failure.self) { try ServerAddress(text) }
    }

    @Test func `the token comes from a flag, a file or the environment, in this order`() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "token-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(" from-file\n".utf8).write(to: file)
        let environment = ["PRESENCE_TOKEN": "from-environment"]

        try expect(TokenSource(token: "flag", file: nil, environment: environment).read(), equals: "flag")
        try expect(TokenSource(token: nil, file: nil, environment: environment).read(), equals: "from-environment")
        let source = try TokenSource(token: nil, file: file.path, environment: environment)
        try expect(source.read(), equals: "from-file")
        // The file is read again after it was renewed.
        try Data("newer".utf8).write(to: file)
        try expect(source.read(), equals: "newer")
        expect(source.isRenewable)

        #expect(throws: Failure.self) { try TokenSource(token: "a", file: "b", environment: [:]) }
        #expect(throws: Failure.self) { try TokenSource(token: nil, file: nil, environment: ["PRESENCE_TOKEN": " "]) }
        #expect(throws: Failure.self) {
            try TokenSource(token: nil, file: file.path + "-not", environment: environment)
        }
        try Data().write(to: file)
        #expect(throws: Failure.self) { try TokenSource(token: nil, file: file.path, environment: environment) }
    }

    @Test func `ids are checked before any request to a server`() throws {
        let address = try ServerAddress(ServerAddress.standard)
        func subject(_ users: [String], _ conversations: [String] = []) throws -> Subject {
            try Subject(users: users, conversations: conversations, address: address, token: .fixed("t"))
        }
        _ = try subject(["a", String(repeating: "x", count: 128), "~!"])
        for bad in ["", "a b", "é", String(repeating: "x", count: 129), "a\u{7F}"] {
            #expect(throws: Failure.self) { try subject(["ok", bad]) }
            #expect(throws: Failure.self) { try subject(["ok"], [bad]) }
        }
    }

    @Test func `a lost server is waited for, one that was never reached is not`() {
        let lost = ConnectionState.reconnecting(in: .seconds(1), because: PresenceError(.connectionLost, "gone"))
        func failure(_ state: ConnectionState, _ connected: Bool, renewable: Bool = false) -> Failure? {
            Failure(state, hasConnected: connected, tokenIsRenewable: renewable, address: "host:1")
        }
        expect(failure(lost, true), equals: nil)
        expect(failure(lost, false), equals: Failure(.noServer, "no connection to host:1: gone"))
        expect(failure(.live, false), equals: nil)
        expect(failure(.stale(since: Scene.now), true), equals: nil)
        expect(failure(.closed(nil), true), equals: nil)

        let expired = ConnectionState.reconnecting(
            in: .seconds(1), because: PresenceError(.unauthorized, "the token expired"))
        expect(failure(expired, true)?.kind, equals: .refused)
        expect(failure(expired, true)?.sentence.hasPrefix("the token expired"), equals: true)
        // The file may have a new token by then.
        expect(failure(expired, true, renewable: true), equals: nil)
        expect(failure(expired, false, renewable: true)?.kind, equals: .refused)

        let replaced = ConnectionState.closed(PresenceError(.replaced, "connected elsewhere"))
        expect(failure(replaced, true, renewable: true), equals: Failure(.refused, "connected elsewhere"))
    }
}
