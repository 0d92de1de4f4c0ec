import Expectations
import Redis
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(1)))
struct SubscriberTests {
    let server: RedisServer

    init() throws { server = try RedisServer() }

    private let partitions = (0..<128).map { "{p\($0)}:events" }

    @Test func `each of 128 channels delivers under its own index`() async throws {
        let admin = try server.admin()
        try await Listener.with(server.unix, partitions) { listener in
            await listener.subscribed()
            for (index, channel) in partitions.enumerated() {
                let payload = Array("event \(index)".utf8)
                let receivers = try admin.command("PUBLISH", .string(channel), .bytes(payload))
                expect(receivers.int, equals: 1)
                await expect(listener.message(), equals: .init(channel: index, payload: payload))
            }
        }
    }

    @Test func `a payload may be any bytes, none, or megabytes`() async throws {
        let admin = try server.admin()
        try await Listener.with(server.tcp, ["a", "bytes"]) { listener in
            await listener.subscribed()
            let payloads: [[UInt8]] = [
                Array(0...255), [], Array("\r\n$5\r\n*3\r\n".utf8), [0], [UInt8](repeating: 7, count: 3_000_000),
            ]
            for payload in payloads {
                try admin.command("PUBLISH", "bytes", .bytes(payload))
                await expect(listener.message(), equals: .init(channel: 1, payload: payload))
            }
        }
    }

    @Test func `100,000 messages come in their order, whatever pieces they arrive in`() async throws {
        let endpoint = server.unix
        try await Listener.with(endpoint, partitions) { listener in
            await listener.subscribed()
            let isInOrder = await listener.wait { (subscriber, done: @escaping (Bool) -> Void) in
                var next = 0
                var isInOrder = true
                subscriber.onMessage = { channel, payload in
                    isInOrder = isInOrder && channel == next % 128 && payload.elementsEqual("\(next)".utf8)
                    next += 1
                    if next == 100_000 { done(isInOrder) }
                }
                #expect(throws: Never.self) {
                    try BlockingRedis(endpoint).command(
                        "EVAL", "for i = 0, 99999 do redis.call('PUBLISH', '{p' .. i % 128 .. '}:events', i) end", 0)
                }
            }
            expect(isInOrder)
        }
    }

    @Test func `it subscribes again when the server was killed`() async throws {
        try await Listener.with(server.unix, partitions) { listener in
            await listener.subscribed()
            server.kill()
            await expect(listener.lossReason().hasPrefix("\(server.unix): "))
            try server.start()
            await listener.subscribed()
            try expect(server.admin().command("PUBLISH", .string(partitions[127]), "back").int, equals: 1)
            await expect(listener.message(), equals: .init(channel: 127, payload: Array("back".utf8)))
        }
    }

    @Test func `it subscribes again on demand, and when the server hangs up`() async throws {
        let admin = try server.admin()
        try await Listener.with(server.tcp, ["a"]) { listener in
            await listener.subscribed()
            await listener.onLoop { $0.reconnect(reason: "the canary died") }
            await expect(listener.lossReason().hasSuffix(": the canary died"))
            await listener.subscribed()
            let killed = try admin.command("CLIENT", "KILL", "TYPE", "pubsub")
            expect(killed.int, equals: 1)
            await expect(listener.lossReason().hasSuffix(": the server closed the connection"))
            await listener.subscribed()
            let receivers = try admin.command("PUBLISH", "a", "x")
            expect(receivers.int, equals: 1)
        }
    }

    @Test func `a server that stands still is given up in time while subscribing`() async throws {
        server.pause()
        try await Listener.with(server.unix, ["a"], .with { $0.connectTimeout = 50 }) { listener in
            await expect(listener.lossReason().contains("not ready within 50 ms"))
            server.resume()
            await listener.subscribed()
        }
    }

    @Test func `it authenticates, and reports a refusal with its reason`() async throws {
        let admin = try server.admin()
        try admin.command("ACL", "SETUSER", "ann", "on", ">hunter2", "&a", "+@all")
        try admin.command("CONFIG", "SET", "requirepass", "s3cret")
        var endpoint = server.unix
        try await Listener.with(endpoint, ["a"]) { await expect($0.lossReason().contains("NOAUTH")) }
        (endpoint.user, endpoint.password) = ("ann", "wrong")
        try await Listener.with(endpoint, ["a"]) { listener in
            await expect(listener.lossReason().contains("the password is refused: WRONGPASS"))
        }
        endpoint.password = "hunter2"
        try await Listener.with(endpoint, ["a"]) { await $0.subscribed() }
        try await Listener.with(endpoint, ["a", "b"]) { await expect($0.lossReason().contains("NOPERM")) }
    }

    @Test func `a message may close the subscriber, and no more come`() async throws {
        let endpoint = server.unix
        try await Listener.with(endpoint, ["a"]) { listener in
            await listener.subscribed()
            let count = await listener.wait { (subscriber, done: @escaping (Int) -> Void) in
                var count = 0
                subscriber.onState = { _ in Issue.record("no state after close()") }
                subscriber.onMessage = { _, payload in
                    count += 1
                    subscriber.close()
                    expect(payload.elementsEqual("1".utf8), "the bytes outlive the connection for the call")
                    done(count)
                }
                #expect(throws: Never.self) {
                    try BlockingRedis(endpoint).command("EVAL", "for i = 1, 9 do redis.call('PUBLISH', 'a', i) end", 0)
                }
            }
            expect(count, equals: 1)
            await expect(listener.onLoop { $0.state }, equals: .closed)
        }
    }
}
