import Expectations
import Testing
import WebSockets

@testable import TestSupport

@Suite(.timeLimit(.minutes(1)))
struct MessageTests {
    @Test func `a message is received whole and answered`() async throws {
        try await withServer { server in
            let client = try RawClient.upgraded(port: server.port)
            try client.send(text: "hello")
            try expect(client.readText(), equals: "hello")
            try client.send(text: "")
            try expect(client.readText(), equals: "")
            expect(server.messages, equals: ["hello", ""])
        }
    }

    @Test(arguments: [125, 126, 255, 256, 257, 4096, 65535, 65536, 262_144])
    func `a message of any length up to the limit is received whole`(length: Int) async throws {
        try await withServer { server in
            let client = try RawClient.upgraded(port: server.port)
            let text = String((0..<length).map { Character(UnicodeScalar(UInt8(97 + $0 % 26))) })
            try client.send(text: text)
            try expect(client.readText(), equals: text)
        }
    }

    @Test func `a handshake and messages that arrive byte by byte are understood`() async throws {
        try await withServer { server in
            let client = try RawClient(port: server.port)
            for byte in RawClient.upgrade().utf8 { try client.send([byte]) }
            _ = try client.readHead()
            for byte in RawClient.frame(1, Array("schön".utf8)) { try client.send([byte]) }
            try expect(client.readText(), equals: "schön")
            for byte in RawClient.frame(1, Array(repeating: 65, count: 300)) { try client.send([byte]) }
            try expect(client.readText().count, equals: 300)
        }
    }

    @Test func `messages sent behind the handshake in one piece arrive`() async throws {
        try await withServer { server in
            let client = try RawClient(port: server.port)
            try client.send(
                Array(RawClient.upgrade().utf8) + RawClient.frame(1, Array("one".utf8))
                    + RawClient.frame(1, Array("two".utf8)))
            _ = try client.readHead()
            try expect(client.readText(), equals: "one")
            try expect(client.readText(), equals: "two")
        }
    }

    @Test func `fragments are put together, with pings between them and a character split over two`() async throws {
        try await withServer { server in
            let client = try RawClient.upgraded(port: server.port)
            try client.send(RawClient.frame(1, Array("a".utf8), final: false))
            try client.send(RawClient.frame(9, [1, 2, 3]))
            try client.send(RawClient.frame(0, [0xc3], final: false))
            try client.send(RawClient.frame(9, []))
            try client.send(RawClient.frame(0, [], final: false))
            try client.send(RawClient.frame(10, [7]))
            try client.send(RawClient.frame(0, [0xb6], final: true))
            try client.send(RawClient.frame(1, [], final: false))
            try client.send(RawClient.frame(0, Array("b".utf8), final: true))
            await server.log.count(2) { if case .received = $0 { true } else { false } }
            expect(server.messages, equals: ["aö", "b"])
        }
    }

    @Test func `a hundred messages in one write all arrive in their order`() async throws {
        try await withServer { server in
            let client = try RawClient.upgraded(port: server.port)
            try client.send((0..<100).flatMap { RawClient.frame(1, Array("\($0)".utf8)) })
            for number in 0..<100 { try expect(client.readText(), equals: "\(number)") }
        }
    }

    @Test func `a client's ping is answered with the same bytes, and reported`() async throws {
        try await withServer { server in
            let client = try RawClient.upgraded(port: server.port)
            try client.send(RawClient.frame(9, Array("beat".utf8)))
            let pong = try client.readFrame()
            expect(pong.opcode == 10 && pong.text == "beat")
            await server.log.first { if case .heard = $0 { true } else { false } }
        }
    }

    @Test func `the answer to our ping is reported`() async throws {
        try await withServer { server in
            let client = try RawClient.upgraded(port: server.port)
            let socket = await server.opened()
            await server.on { server, _ in server.ping(socket) }
            let ping = try client.readFrame()
            expect(ping.opcode, equals: 9)
            expect(server.log.all.count, equals: 1)
            try client.send(RawClient.frame(10, ping.payload))
            await server.log.first { if case .heard(socket) = $0 { true } else { false } }
        }
    }

    @Test func `a part of a message counts as a sign of life before it is whole`() async throws {
        try await withServer { server in
            let client = try RawClient.upgraded(port: server.port)
            try client.send(RawClient.frame(1, Array("half".utf8), final: false))
            await server.log.first { if case .heard = $0 { true } else { false } }
            expect(server.messages.isEmpty)
        }
    }
}

extension MessageTests {
    /// Violations of the protocol, and the server's close code.
    static let offences: [(String, [UInt8], Int)] = [
        ("a binary message", RawClient.frame(2, [1, 2, 3]), 1003),
        ("an empty binary message", RawClient.frame(2, []), 1003),
        ("text that is not UTF-8", RawClient.frame(1, [0x61, 0xff, 0x62]), 1007),
        ("text that ends within a character", RawClient.frame(1, [0x61, 0xe2, 0x82]), 1007),
        ("an overlong encoding", RawClient.frame(1, [0xc0, 0xaf]), 1007),
        ("a surrogate in UTF-8", RawClient.frame(1, [0xed, 0xa0, 0x80]), 1007),
        ("one byte too many", RawClient.frame(1, Array(repeating: 97, count: 1001)), 1009),
        (
            "one byte too many, in fragments",
            RawClient.frame(1, Array(repeating: 97, count: 1000), final: false) + RawClient.frame(0, [97]), 1009
        ),
        ("the header of a message of 2^40 bytes", [0x81, 0xff, 0, 0, 1, 0, 0, 0, 0, 0, 1, 2, 3, 4, 65], 1009),
        ("an unknown opcode", RawClient.frame(3, []), 1002),
        ("a continuation of nothing", RawClient.frame(0, [97]), 1002),
        ("a message within another", RawClient.frame(1, [97], final: false) + RawClient.frame(1, [97]), 1002),
        ("a fragmented ping", RawClient.frame(9, [97], final: false), 1002),
        ("a reserved bit", [0xc1, 0x80, 1, 2, 3, 4], 1002),
    ]

    @Test(arguments: offences)
    func `an offence closes with its code`(name: String, bytes: [UInt8], code: Int) async throws {
        let configure: (inout WebSocketServerConfiguration) -> Void = {
            $0.maxMessageBytes = 1000
            // For one of them, the announced bytes never arrive: no answer can be found behind it.
            $0.closeTimeout = 50
        }
        try await withServer(configure) { server in
            let bystander = try RawClient.upgraded(port: server.port)
            let client = try RawClient.upgraded(port: server.port)
            await server.log.count(2) { if case .opened = $0 { true } else { false } }
            try client.send(bytes)
            let answer = try client.readFrame()
            expect(answer.closeCode, equals: code, "\(name): \(answer)")
            try client.sendClose(code)
            expect(client.readToEnd(), equals: [])
            let event = await server.log.first { if case .closed = $0 { true } else { false } }
            guard case .closed(_, .byServer(UInt16(code))) = event else {
                Issue.record("\(name): \(event)")
                return
            }
            expect(server.messages.isEmpty)
            try bystander.send(text: "still here")
            try expect(bystander.readText(), equals: "still here")
        }
    }

    @Test func `a message at the limit is taken`() async throws {
        try await withServer({ $0.maxMessageBytes = 1000 }) { server in
            let client = try RawClient.upgraded(port: server.port)
            let text = String(repeating: "x", count: 1000)
            try client.send(text: text)
            try expect(client.readText(), equals: text)
            try client.send(
                RawClient.frame(1, Array(repeating: 97, count: 400), final: false)
                    + RawClient.frame(0, Array(repeating: 97, count: 600)))
            try expect(client.readText().count, equals: 1000)
        }
    }
}
