import EventLoops
import Expectations
import Glibc
import Testing

@testable import TestSupport
@testable import WebSockets

/// Open connections without TLS, which the server reads, writes and ends itself.
@Suite(.timeLimit(.minutes(1)))
struct PlainReadingTests {
    @Test func `concurrent pings are all answered, in order and before later messages`() async throws {
        try await withServer { server in
            let client = try RawClient.upgraded(port: server.port)
            let pings = (0..<10).flatMap { RawClient.frame(9, Array(repeating: $0, count: $0 == 9 ? 125 : Int($0))) }
            try client.send(pings + RawClient.frame(1, Array("text".utf8)) + RawClient.frame(9, [99]))
            for number in 0..<10 {
                let pong = try client.readFrame()
                expect(
                    pong.opcode == 10
                        && pong.payload == Array(repeating: UInt8(number), count: number == 9 ? 125 : number))
            }
            try expect(client.readText(), equals: "text")
            try expect(client.readFrame(), equals: .init(opcode: 10, payload: [99]))
            // In octets, too.
            for byte in RawClient.frame(9, Array(repeating: 7, count: 125)) { try client.send([byte]) }
            try expect(client.readFrame(), equals: .init(opcode: 10, payload: Array(repeating: 7, count: 125)))
        }
    }

    @Test(
        arguments: [
            ("a ping of 126 bytes", RawClient.frame(9, Array(repeating: 1, count: 126))),
            ("a close of 126 bytes", RawClient.frame(8, Array(repeating: 1, count: 126))),
            ("a message without a mask", RawClient.frame(1, [97], masked: false)),
            ("a length of two bytes for five", [0x81, 0xFE, 0, 5, 1, 2, 3, 4]),
            ("a length of eight bytes for five", [0x81, 0xFF, 0, 0, 0, 0, 0, 0, 0, 5, 1, 2, 3, 4]),
            ("a length of 2^63", [0x81, 0xFF, 0x80, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4]),
        ] as [(String, [UInt8])])
    func `a violation closes with 1002, and the peer is shown the end at once`(name: String, bytes: [UInt8])
        async throws
    {
        try await withServer({ $0.closeTimeout = 60_000 }) { server in
            let client = try RawClient.upgraded(port: server.port)
            let socket = await server.opened()
            try client.send(RawClient.frame(9, [1]) + bytes + RawClient.frame(1, Array("never".utf8)))
            try expect(client.readFrame().opcode, equals: 10)
            try expect(client.readFrame().closeCode, equals: 1002)
            expect(client.readToEnd(), equals: [])
            shutdown(client.descriptor, Int32(SHUT_WR))
            await expect(server.closed(socket), equals: .byServer(code: 1002))
            expect(server.messages.isEmpty)
        }
    }

    @Test func `a refused message is followed to its end, where the peer's close is found`() async throws {
        try await withServer({
            $0.closeTimeout = 60_000
            $0.maxMessageBytes = 1_000
        }) { server in
            for (frame, code) in [
                (RawClient.frame(1, Array(repeating: 97, count: 50_000)), 1009), (RawClient.frame(2, [1, 2]), 1003),
            ] {
                let client = try RawClient.upgraded(port: server.port)
                try client.send(frame)
                try expect(client.readFrame().closeCode, equals: code)
                try client.send(RawClient.frame(9, [1]) + RawClient.frame(1, [97]))
                try client.sendClose(code)
                expect(client.readToEnd(), equals: [])
            }
            await server.log.count(2) { if case .closed = $0 { true } else { false } }
            expect(server.messages.isEmpty)
        }
    }

    @Test func `messages sent before the peer shut down its side are answered`() async throws {
        try await withServer { server in
            let client = try RawClient.upgraded(port: server.port)
            let socket = await server.opened()
            try client.send(RawClient.frame(1, Array("last".utf8)) + RawClient.frame(1, Array("half".utf8)).dropLast())
            shutdown(client.descriptor, Int32(SHUT_WR))
            try expect(client.readText(), equals: "last")
            expect(client.readToEnd(), equals: [])
            await expect(server.closed(socket), equals: .lost)
        }
    }

    @Test func `a reset ends the connection`() async throws {
        try await withServer { server in
            var client: RawClient? = try RawClient.upgraded(port: server.port)
            let socket = await server.opened()
            var lingering = linger(l_onoff: 1, l_linger: 0)
            setsockopt(client!.descriptor, SOL_SOCKET, SO_LINGER, &lingering, socklen_t(MemoryLayout<linger>.size))
            client = nil
            await expect(server.closed(socket), equals: .lost)
            await expect(server.on { server, _ in server.connectionCount }, equals: 0)
        }
    }

    @Test func `nothing is delivered while it is paused, not even bytes that were read`() async throws {
        try await withServer { server in
            await server.on { _, recorder in
                recorder.onMessage = { server, message, socket in
                    if message.starts(with: "pause".utf8) { server.pauseReading(socket) }
                }
            }
            let client = try RawClient.upgraded(port: server.port)
            let socket = await server.opened()
            let frames = ["pause", "a", "pause 2", "b", "c"].map { RawClient.frame(1, Array($0.utf8)) }
            try client.send(frames[0] + frames[1] + frames[2] + frames[3] + frames[4].prefix(3))
            await server.log.first { if case .received = $0 { true } else { false } }
            let rest = frames[1].count + frames[2].count + frames[3].count + 3
            await expect(server.on { server, _ in server.inboxHeld }, equals: rest)
            try client.send(Array(frames[4].dropFirst(3)))
            _ = try RawClient.upgraded(port: server.port)
            expect(server.messages, equals: ["pause"])
            await server.on { server, _ in
                server.resumeReading(socket)
                server.pauseReading(socket)
                server.resumeReading(socket)
            }
            await server.log.count(3) { if case .received = $0 { true } else { false } }
            expect(server.messages, equals: ["pause", "a", "pause 2"])
            await expect(server.on { server, _ in server.inboxHeld }, equals: frames[3].count + 3)
            await server.on { server, _ in server.resumeReading(socket) }
            await server.log.count(5) { if case .received = $0 { true } else { false } }
            expect(server.messages, equals: ["pause", "a", "pause 2", "b", "c"])
            await expect(server.on { server, _ in server.inboxHeld }, equals: 0)
        }
    }

    @Test(arguments: [true, false])
    func `the read bytes of a paused connection need room, and are dropped when it ends`(hasRoom: Bool) async throws {
        try await withServer({
            $0.inbox = AddressBudget(hasRoom ? 1_000 : 50)
            $0.closeTimeout = 60_000
        }) { server in
            await server.on { _, recorder in recorder.onMessage = { server, _, socket in server.pauseReading(socket) } }
            let client = try RawClient.upgraded(port: server.port)
            let socket = await server.opened()
            try client.send(RawClient.frame(1, [97]) + RawClient.frame(1, Array(repeating: 98, count: 100)))
            await server.log.first { if case .received = $0 { true } else { false } }
            if hasRoom {
                await server.on { server, _ in server.close(socket, code: 4000) }
                try expect(client.readFrame().closeCode, equals: 4000)
                try client.sendClose(4000)
                await expect(server.closed(socket), equals: .byServer(code: 4000))
            } else {
                try expect(client.readFrame().closeCode, equals: 1013)
                shutdown(client.descriptor, Int32(SHUT_WR))
                await expect(server.closed(socket), equals: .byServer(code: 1013))
            }
            expect(server.messages, equals: ["a"])
            await expect(server.on { server, _ in server.inboxHeld }, equals: 0)
        }
    }

    @Test func `frames that came with the request wait when the connection is paused as it opens`() async throws {
        try await withServer { server in
            await server.on { _, recorder in recorder.onOpen = { server, socket in server.pauseReading(socket) } }
            let client = try RawClient(port: server.port)
            let early = RawClient.frame(1, Array("early".utf8))
            try client.send(Array(RawClient.upgrade().utf8) + early + early.prefix(4))
            let socket = await server.opened()
            try client.send(Array(early.dropFirst(4)))
            await expect(server.on { server, _ in server.inboxHeld }, equals: early.count + 4)
            expect(server.messages.isEmpty)
            await server.on { server, _ in server.resumeReading(socket) }
            _ = try client.readHead()
            try expect(client.readText(), equals: "early")
            try expect(client.readText(), equals: "early")
        }
    }

    @Test func `a client that sends much does not delay others by all of it`() async throws {
        try await withServer { server in
            let eager = try RawClient.upgraded(port: server.port)
            let client = try RawClient.upgraded(port: server.port)
            await server.log.count(2) { if case .opened = $0 { true } else { false } }
            // The loop stands still until everything lies in the sockets.
            let isSent = Locked(false)
            server.loop.execute { while !isSent.withLock({ $0 }) { usleep(1_000) } }
            for _ in 0..<100 { try eager.send(RawClient.frame(1, Array(repeating: 120, count: 500))) }
            try client.send(text: "hello")
            isSent.withLock { $0 = true }
            try expect(client.readText(), equals: "hello")
            await server.log.count(101) { if case .received = $0 { true } else { false } }
            let before = server.messages.firstIndex(of: "hello") ?? 100
            expect(before <= 16, "\(before) messages of another came first")
        }
    }

    @Test func `of pings that come while the socket is full, the latest is answered between two messages`() async throws
    {
        try await withServer { server in
            await server.on { _, recorder in
                let flood = Flood(total: 3000)
                recorder.onOpen = { server, socket in flood.run(server, socket) }
                recorder.onWritable = { server, socket in flood.run(server, socket) }
            }
            let client = try RawClient.upgraded(port: server.port, receiveBuffer: 4096)
            _ = await server.opened()
            let isStuck = await server.on { server, _ in server.counters.partialWrites == 1 }
            expect(isStuck)
            for number in 0..<200 { try client.send(RawClient.frame(9, [UInt8(number)])) }
            try client.send(text: "all pings have come")
            await server.log.first { if case .received = $0 { true } else { false } }
            var pongs: [[UInt8]] = []
            var number = 0
            while number < 3000 {
                let frame = try client.readFrame()
                guard frame.opcode == 1 else {
                    pongs.append(frame.payload)
                    continue
                }
                expect(frame.text.hasPrefix("\(number) "))
                number += 1
            }
            expect(pongs, equals: [[199]])
        }
    }

    @Test func `a client that never reads its pongs is held to one of them`() async throws {
        try await withServer({ $0.closeTimeout = 50 }) { server in
            let client = try RawClient.upgraded(port: server.port, receiveBuffer: 4096)
            let socket = await server.opened()
            let pings = (0..<2_000).flatMap { _ in RawClient.frame(9, Array(repeating: 5, count: 125)) }
            for _ in 0..<20 { try client.send(pings) }
            try client.send(text: "heard")
            await server.log.first { if case .received = $0 { true } else { false } }
            // Its messages are accepted, and the result of a write shows that there is no room.
            let result = await server.on { server, _ in
                WebSocketFrame.ping.withUnsafeBytes { server.write($0, to: socket) }
            }
            expect(result, equals: .refused)
            try client.sendClose(1000)
            await expect(server.closed(socket), equals: .byPeer(code: 1000, reason: ""))
        }
    }
}
