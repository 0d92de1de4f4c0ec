import Expectations
import Testing
import WebSockets

@testable import TestSupport

@Suite(.timeLimit(.minutes(1)))
struct FlowTests {
    @Test func `a slow reader gets everything in order, and pings are answered between`() async throws {
        let total = 3000
        try await withServer { server in
            await server.on { _, recorder in
                let flood = Flood(total: total)
                recorder.onOpen = { server, socket in flood.run(server, socket) }
                recorder.onWritable = { server, socket in flood.run(server, socket) }
            }
            let client = try RawClient.upgraded(port: server.port, receiveBuffer: 4096)
            // Nothing was read yet, so the server is blocked; a ping still reaches it.
            await server.log.first { if case .opened = $0 { true } else { false } }
            let isStuck = await server.on { server, _ in server.counters.partialWrites == 1 }
            expect(isStuck)
            try client.send(RawClient.frame(9, Array("in between".utf8)))
            var pongs = 0
            var number = 0
            while number < total || pongs == 0 {
                let frame = try client.readFrame()
                if frame.opcode == 10 {
                    pongs += 1
                    expect(frame.text, equals: "in between")
                    continue
                }
                expect(frame.opcode == 1 && frame.payload.count == "\(number) ".count + number % 2000)
                expect(frame.text.hasPrefix("\(number) "))
                number += 1
            }
            expect(pongs, equals: 1)
            let counters = await server.on { server, _ in server.counters }
            expect(counters.partialWrites >= 1 && counters.writes == total)
        }
    }

    @Test func `one write larger than all buffers arrives whole`() async throws {
        try await withServer { server in
            await server.on { _, recorder in
                recorder.onOpen = { server, socket in
                    let frames = (0..<200).flatMap { _ in WebSocketFrame.text(Array(repeating: 120, count: 50_000)) }
                    expect(frames.withUnsafeBytes { server.write($0, to: socket) }, equals: .congested)
                }
            }
            let client = try RawClient.upgraded(port: server.port)
            for _ in 0..<200 { try expect(client.readFrame().payload.count, equals: 50_000) }
            await server.log.first { if case .writable = $0 { true } else { false } }
        }
    }

    @Test(arguments: [true, false])
    func `a congested connection can be closed, and ends whether it reads or not`(reads: Bool) async throws {
        try await withServer({ $0.closeTimeout = reads ? 60_000 : 50 }) { server in
            await server.on { _, recorder in
                let flood = Flood(total: 3000)
                recorder.onOpen = { server, socket in flood.run(server, socket) }
                recorder.onMessage = { server, _, socket in server.close(socket, code: 4005, reason: "too slow") }
            }
            let client = try RawClient.upgraded(port: server.port, receiveBuffer: 4096)
            let socket = await server.opened()
            try client.send(text: "close me")
            if reads {
                var frame = try client.readFrame()
                while frame.opcode != 8 { frame = try client.readFrame() }
                expect(frame.closeCode, equals: 4005)
                try client.sendClose(4005)
            }
            await expect(server.closed(socket), equals: .byServer(code: 4005))
        }
    }

    @Test func `abort ends a congested connection at once`() async throws {
        try await withServer({ $0.closeTimeout = 60_000 }) { server in
            await server.on { _, recorder in
                let flood = Flood(total: 3000)
                recorder.onOpen = { server, socket in flood.run(server, socket) }
            }
            let deaf = try RawClient.upgraded(port: server.port, receiveBuffer: 4096)
            let socket = await server.opened()
            await server.on { server, _ in server.abort(socket) }
            await expect(server.closed(socket), equals: .lost)
            await expect(server.on { server, _ in server.connectionCount }, equals: 0)
            _ = deaf
        }
    }

    @Test func `messages sent while reading is paused arrive afterwards, in order`() async throws {
        try await withServer { server in
            await server.on { _, recorder in
                recorder.onMessage = { server, message, socket in
                    if message == Array("pause".utf8) { server.pauseReading(socket) }
                }
            }
            let client = try RawClient.upgraded(port: server.port)
            let socket = await server.opened()
            try client.send(RawClient.frame(1, Array("pause".utf8)) + RawClient.frame(1, Array("a".utf8)))
            for number in 0..<100 { try client.send(text: "\(number) " + String(repeating: "y", count: 500)) }
            await server.log.first { if case .received = $0 { true } else { false } }
            // A second connection's round trip: the loop has continued.
            _ = try RawClient.upgraded(port: server.port)
            expect(server.messages.count <= 2)
            await server.on { server, _ in server.resumeReading(socket) }
            await server.log.count(102) { if case .received = $0 { true } else { false } }
            let expected = (0..<100).map { "\($0) " + String(repeating: "y", count: 500) }
            expect(server.messages, equals: ["pause", "a"] + expected)
        }
    }

    @Test func `a slow reader costs another nothing`() async throws {
        try await withServer { server in
            await server.on { _, recorder in
                let flood = Flood(total: 3000)
                recorder.onOpen = { server, socket in if socket.index == 0 { flood.run(server, socket) } }
            }
            let deaf = try RawClient.upgraded(port: server.port, receiveBuffer: 4096)
            let client = try RawClient.upgraded(port: server.port)
            for number in 0..<200 {
                try client.send(text: "\(number)")
                try expect(client.readText(), equals: "\(number)")
            }
            _ = deaf
        }
    }

    @Test func `a congested connection that closes ends`() async throws {
        try await withServer({ $0.closeTimeout = 50 }) { server in
            await server.on { _, recorder in
                let flood = Flood(total: 3000)
                recorder.onOpen = { server, socket in flood.run(server, socket) }
            }
            let deaf = try RawClient.upgraded(port: server.port, receiveBuffer: 4096)
            let socket = await server.opened()
            try deaf.sendClose(1000)
            await expect(server.closed(socket), equals: .byPeer(code: 1000, reason: ""))
        }
    }
}
