import EventLoops
import Expectations
import Foundation
import TestSupport
import Testing

@testable import Redis

/// Redis over TLS: trusted and untrusted peers, and that everything else works as over a plain socket.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct TLSTests {
    private static let certificates = Result { try Certificates() }
    let certificates: Certificates
    let port: UInt16

    init() throws {
        certificates = try Self.certificates.get()
        port = try FreePort.find()
    }

    private func server(_ name: String = "server", asksClients: Bool = false) throws -> RedisServer {
        try RedisServer(certificates.arguments(name, port: port, asksClients: asksClients))
    }

    /// The reason why neither a connection on a loop nor a blocking one can be made.
    private func refusal(of endpoint: RedisEndpoint) async throws -> String {
        var reason = ""
        try await Client.with(endpoint) { reason = await $0.breakReason() }
        let blocking = #expect(throws: RedisFailure.self) { try BlockingRedis(endpoint, timeout: 2_000) }
        guard case .unreachable(let told) = blocking else { return "\(reason) / \(blocking, default: "connected")" }
        expect(told, equals: reason)
        return reason
    }

    @Test(arguments: ["127.0.0.1", "localhost"])
    func `a server whose certificate is for its host is accepted`(host: String) async throws {
        let server = try server()
        let endpoint = RedisEndpoint.secure(port, try certificates.tls(), host: host)
        try await Client.with(endpoint) { client in
            await client.ready()
            await expect(client.send("SET", "key", "value"), equals: .success(.status("OK")))
        }
        try expect(BlockingRedis(endpoint).command("GET", "key").string, equals: "value")
        withExtendedLifetime(server) {}
    }

    @Test func `a name that is expected stands for the host`() async throws {
        let server = try server("named")
        try await expect(
            refusal(of: .secure(port, certificates.tls())).hasSuffix(
                ": the server's certificate is for another name"))
        let endpoint = RedisEndpoint.secure(port, try certificates.tls(expecting: "redis.test"))
        try await Client.with(endpoint) { await $0.ready() }
        try expect(BlockingRedis(endpoint).command("PING").string, equals: "PONG")
        try await expect(
            refusal(of: .secure(port, certificates.tls(expecting: "127.0.0.1"))).contains("another name"))
        withExtendedLifetime(server) {}
    }

    @Test func `a server that cannot prove itself is reported with the reason`() async throws {
        let server = try server()
        let untrusted = try await refusal(of: .secure(port, certificates.tls(trusting: "other")))
        expect(untrusted.hasPrefix("rediss://127.0.0.1:\(port): the server's certificate is not trusted: "))
        // The authorities of the system have not issued it either.
        try await expect(refusal(of: .secure(port, RedisTLS())).contains("not trusted"))
        try await expect(refusal(of: .secure(port, nil)).contains("TLS could not be set up"))
        withExtendedLifetime(server) {}
    }

    @Test func `an expired certificate is refused`() async throws {
        let server = try server("expired")
        try await expect(
            refusal(of: .secure(port, certificates.tls())).hasSuffix("the server's certificate has expired"))
        withExtendedLifetime(server) {}
    }

    @Test func `a server that requires a certificate gets one, or the failure is reported`() async throws {
        let server = try server(asksClients: true)
        try await expect(
            refusal(of: .secure(port, certificates.tls())).hasSuffix(
                "the server requires a client certificate"))
        let endpoint = RedisEndpoint.secure(port, try certificates.tls(showing: "client"))
        try await Client.with(endpoint) { await $0.ready() }
        try expect(BlockingRedis(endpoint).command("PING").string, equals: "PONG")
        withExtendedLifetime(server) {}
    }

    @Test func `TLS on one side only is reported`() async throws {
        let server = try server()
        try await expect(
            refusal(of: .secure(server.port, certificates.tls())).hasSuffix(
                "no answer to the TLS handshake within 2000 ms: the server may not use TLS on this port"))
        let plain = RedisEndpoint(.tcp(host: "127.0.0.1", port: port))
        try await Client.with(plain) { client in
            await expect(client.breakReason().hasSuffix("if the port is for TLS, its address begins with rediss"))
        }
        try await Listener.with(plain, ["a"]) { listener in
            await expect(listener.lossReason().contains("rediss"))
        }
    }

    @Test func `a server that never shakes hands is given up in time`() async throws {
        let listener = try TCPListener()
        let endpoint = RedisEndpoint.secure(listener.port, try certificates.tls())
        try await Client.with(endpoint, .with { $0.connectTimeout = 60 }) { client in
            await expect(client.breakReason().contains("no answer to the TLS handshake within 60 ms"))
        }
        let failure = #expect(throws: RedisFailure.self) { try BlockingRedis(endpoint, timeout: 60) }
        expect("\(failure!)".contains("no answer to the TLS handshake within 60 ms"))
    }

    @Test func `files that cannot be used are named`() throws {
        let none = "/nonexistent.pem"
        func problem(_ settings: RedisTLS.Settings) -> String {
            let error = #expect(throws: RedisTLSError.self) { try RedisTLS(settings) }
            return "\(error!)"
        }
        expect(problem(.init(authorities: none)).contains("\(none): No such file"))
        let certificate = certificates.file("client.pem")
        expect(problem(.init(certificate: none, key: none)).contains("certificate can be read from \(none): No such"))
        expect(problem(.init(certificate: certificate, key: none)).contains("key for this certificate"))
        let foreign = certificates.file("server.key")
        let mismatch = problem(.init(certificate: certificate, key: foreign))
        expect(mismatch.contains(foreign) && !mismatch.contains("BEGIN"))
        let empty = certificates.file("empty.pem")
        expect(FileManager.default.createFile(atPath: empty, contents: Data()))
        expect(problem(.init(authorities: empty)).contains(empty))
    }

    @Test func `long commands and answers arrive whole and in order`() async throws {
        let server = try server()
        let endpoint = RedisEndpoint.secure(port, try certificates.tls())
        let long = (0..<5_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        try await Client.with(endpoint) { client in
            await client.ready()
            await expect(client.send("SET", "long", .bytes(long)), equals: .success(.status("OK")))
            let answers = await client.wait { (connection, done: @escaping ([Answer]) -> Void) in
                var answers: [Answer] = []
                for number in 0..<20_000 {
                    let words: [RedisArgument] = number % 5_000 == 0 ? ["GET", "long"] : ["ECHO", .init(number)]
                    connection.send(words) {
                        answers.append($0)
                        if answers.count == 20_000 { done(answers) }
                    }
                }
            }
            for (number, answer) in answers.enumerated() {
                if number % 5_000 == 0 {
                    expect(answer.value?.bytes, equals: long)
                } else if answer.value?.int != Int64(number) {
                    Issue.record("\(number) was answered with \(answer)")
                }
            }
        }
        let blocking = try BlockingRedis(endpoint)
        try blocking.command("SET", "longer", .bytes(long + long))
        try expect(blocking.command("GET", "longer").bytes, equals: long + long)
        withExtendedLifetime(server) {}
    }

    @Test func `bytes written while the server does not read are not lost`() async throws {
        let server = try server()
        try await Client.with(.secure(port, try certificates.tls()), .with { $0.commandTimeout = 60_000 }) { client in
            await client.ready()
            server.pause()
            async let answers = client.wait { (connection, done: @escaping ([Answer]) -> Void) in
                var answers: [Answer] = []
                for _ in 0..<40 {
                    connection.send(["RPUSH", "big", .bytes([UInt8](repeating: 1, count: 1 << 20))]) {
                        answers.append($0)
                        if answers.count == 40 { done(answers) }
                    }
                }
            }
            // The kernel's buffers are full: the rest waits here, and more is appended.
            while await client.onLoop({ $0.pending }) < 40 { await Task.yield() }
            async let last = client.send("LLEN", "big")
            while await client.onLoop({ $0.pending }) < 41 { await Task.yield() }
            server.resume()
            await expect(answers, equals: (1...40).map { .success(.integer($0)) })
            await expect(last, equals: .success(.integer(40)))
        }
    }

    @Test func `a flood of 100,000 messages comes in its order`() async throws {
        let server = try server()
        let plain = server.unix
        try await Listener.with(.secure(port, try certificates.tls()), (0..<128).map { "c\($0)" }) { listener in
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
                    try BlockingRedis(plain).command(
                        "EVAL", "for i = 0, 99999 do redis.call('PUBLISH', 'c' .. i % 128, i) end", 0)
                }
            }
            expect(isInOrder)
        }
    }

    @Test func `a server that is killed is found when it is back, by commands and subscriptions`() async throws {
        let server = try server()
        let endpoint = RedisEndpoint.secure(port, try certificates.tls())
        try await Client.with(endpoint) { client in
            try await Listener.with(endpoint, ["a"]) { listener in
                await client.ready()
                await listener.subscribed()
                for _ in 0..<3 {
                    async let answer = client.send("BLPOP", "nothing", 0)
                    try await waitUntil {
                        try server.admin().command("INFO", "clients").string?.contains("blocked_clients:1") == true
                    }
                    server.kill()
                    await expect(answer, equals: .failure(.disconnected(sent: true)))
                    await expect(client.breakReason().hasPrefix("rediss://127.0.0.1:\(port): "))
                    _ = await listener.lossReason()
                    try server.start()
                    await client.ready()
                    await listener.subscribed()
                    try expect(server.admin().command("PUBLISH", "a", "back").int, equals: 1)
                    await expect(listener.message(), equals: .init(channel: 0, payload: Array("back".utf8)))
                }
            }
        }
    }

    @Test func `sentinels and the master that they name are spoken to over TLS`() async throws {
        let server = try server()
        let sentinelPort = try FreePort.find()
        let sentinel = try SentinelProcess(
            of: server, at: port, epoch: 1,
            settings: [
                "tls-port \(sentinelPort)", "tls-cert-file \(certificates.file("server.pem"))",
                "tls-key-file \(certificates.file("server.key"))",
                "tls-ca-cert-file \(certificates.file("authority.pem"))", "tls-auth-clients no", "tls-replication yes",
            ])
        var location = try RedisLocation(url: "rediss+sentinel://127.0.0.1:\(sentinelPort)/people")
        location.secure(by: try certificates.tls())
        guard case .sentinels(let sentinels) = location else { return expect(Bool(false)) }
        try await Client.with(sentinels) { client in
            await client.ready()
            await expect(client.port, equals: port)
            await expect(client.send("PING"), equals: .success(.status("PONG")))
        }
        let master = try BlockingRedis.master(of: sentinels)
        expect(master.isSecure && master.tls != nil)
        try expect(BlockingRedis(master).command("PING").string, equals: "PONG")
        withExtendedLifetime(sentinel) {}
    }

    @Test func `all nodes of a cluster are spoken to over TLS`() async throws {
        let cluster = try TwoMasters { certificates.arguments(port: $0) + ["--tls-cluster", "yes"] }
        var location = try RedisLocation(url: cluster.url)
        expect(location.isSecure)
        location.secure(by: try certificates.tls())
        guard case .cluster(let seeds) = location else { return expect(Bool(false)) }
        try await ClusterClient.with(seeds) { client in
            for key in ["{a}", "{b}", "{c}", "leases"] {
                await expect(client.send(key, "SET", .string(key), "x"), equals: .success(.status("OK")))
            }
            try cluster.move(slotOf: "{a}")
            await expect(client.send("{a}", "GET", "{a}").value?.string, equals: "x")
        }
        let map = try BlockingRedis.slots(of: seeds)
        for master in map.masters {
            try expect(BlockingRedis(seeds.endpoint(of: master)).command("PING").string, equals: "PONG")
        }
    }
}
