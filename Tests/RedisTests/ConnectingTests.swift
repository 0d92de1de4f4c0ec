import Expectations
import TestSupport
import Testing

@testable import Redis

@Suite(.serialized, .timeLimit(.minutes(1)))
struct ConnectingTests {
    let server: RedisServer

    init() throws { server = try RedisServer() }

    @Test func `a connection is reported from its first attempt, and named on the server`() async throws {
        try await Client.with(server.unix) { client in
            await expect(client.state { _ in true }, equals: .connecting)
            await expect(client.state { _ in true }, equals: .ready)
            let list = await client.send("CLIENT", "LIST").value?.string
            expect(list?.contains(" name=test "), equals: true)
        }
    }

    @Test func `a host's name is resolved`() async throws {
        let endpoint = RedisEndpoint(.tcp(host: "localhost", port: server.port))
        try await Client.with(endpoint) { client in
            await client.ready()
            await expect(client.send("PING").value, equals: .status("PONG"))
        }
    }

    @Test func `a name that does not exist is a reason, and it is tried again`() async throws {
        let endpoint = RedisEndpoint(.tcp(host: "nowhere.invalid", port: 1))
        try await Client.with(endpoint) { client in
            await expect(client.breakReason().hasPrefix("redis://nowhere.invalid:1: cannot resolve nowhere.invalid: "))
            await client.state { $0 == .connecting }
        }
    }

    @Test func `a server without anyone behind it is a reason, and found when it comes`() async throws {
        server.kill()
        for endpoint in [server.unix, server.tcp] {
            try await Client.with(endpoint) { client in
                let reason = await client.breakReason()
                expect(reason.hasPrefix("\(endpoint): "))
                expect(reason.contains("refused") || reason.contains("No such file"), "\(reason)")
                await expect(client.send("PING"), equals: .failure(.disconnected(sent: false)))
                try server.start()
                await client.ready()
                server.kill()
            }
        }
    }

    @Test func `the password and the user of an access list are given`() async throws {
        let admin = try server.admin()
        try admin.command("ACL", "SETUSER", "ann", "on", ">hunter2", "~*", "+@all")
        try admin.command("CONFIG", "SET", "requirepass", "s3cret")
        for (user, password) in [("ann", "hunter2"), (nil, "s3cret"), ("default", "s3cret")] {
            var endpoint = server.tcp
            (endpoint.user, endpoint.password) = (user, password)
            try await Client.with(endpoint) { client in
                await client.ready()
                await expect(client.send("ACL", "WHOAMI").value?.string == user ?? "default")
            }
        }
    }

    @Test func `a user who may neither PING nor set a name is ready nevertheless`() async throws {
        try server.admin().command("ACL", "SETUSER", "bo", "on", ">pw", "~*", "+get")
        var endpoint = server.unix
        (endpoint.user, endpoint.password) = ("bo", "pw")
        try await Client.with(endpoint) { client in
            await client.ready()
            await expect(client.send("GET", "x").value, equals: .null)
            await expect(client.send("SET", "x", 1).failure?.code, equals: "NOPERM")
        }
    }

    @Test func `a wrong password is reported without showing it, retried slowly, and heals`() async throws {
        let admin = try server.admin()
        try admin.command("CONFIG", "SET", "requirepass", "right")
        var endpoint = server.unix
        endpoint.password = "hunter2"
        try await Client.with(endpoint, .with { $0.refusedRetry = 150 }) { client in
            let reason = await client.breakReason()
            expect(reason.contains("the password is refused: WRONGPASS"), "\(reason)")
            expect(!reason.contains("hunter2"))
            let loop = client.loop
            let pause = await client.wait { (connection, done: @escaping (Int64) -> Void) in
                let tell = connection.onState
                var broke: Int64?
                connection.onState = { state in
                    tell(state)
                    guard let began = broke else {
                        if state.isDisconnected { broke = loop.now }
                        return
                    }
                    connection.onState = tell
                    done(loop.now - began)
                }
            }
            expect(pause >= 150, "not at the pace of other breaks")
            try admin.command("CONFIG", "SET", "requirepass", "hunter2")
            await client.ready()
        }
    }

    @Test func `a server that repeats a wrong command does not make us show the password`() {
        let greeting = Greeting.authenticate(user: nil, password: "hunter2")
        let line = "ERR unknown command 'AUTH', with args beginning with: 'hunter2' "
        expect(greeting.objection(to: .error(line))?.reason, equals: "the password is refused: AUTH failed")
    }

    @Test func `a missing password is a refusal`() async throws {
        try server.admin().command("CONFIG", "SET", "requirepass", "right")
        try await Client.with(server.unix) { client in
            await expect(client.breakReason().contains("NOAUTH"))
        }
    }

    @Test func `commands run in the database of the endpoint, a missing one is reported`() async throws {
        var endpoint = server.unix
        endpoint.database = 3
        try await Client.with(endpoint) { client in
            await client.ready()
            await expect(client.send("SET", "here", 1).value, equals: .status("OK"))
        }
        try expect(BlockingRedis(endpoint).command("EXISTS", "here").int, equals: 1)
        try expect(server.admin().command("EXISTS", "here").int, equals: 0)
        endpoint.database = 99
        try await Client.with(endpoint) { client in
            await expect(client.breakReason().contains("database 99 is refused: ERR DB index is out of range"))
        }
    }

    @Test func `too many clients is the reason that the server gave`() async throws {
        let admin = try server.admin()
        try admin.command("CONFIG", "SET", "maxclients", 1)
        try await Client.with(server.unix) { client in
            await expect(client.breakReason().contains("max number of clients"))
            try admin.command("CONFIG", "SET", "maxclients", 100)
            await client.ready()
        }
    }

    @Test func `a server that still loads its data is not ready`() async throws {
        let admin = try server.admin()
        try admin.command("EVAL", "for i = 1, 20000 do redis.call('SET', i, i) end", 0)
        try admin.command("SAVE")
        server.kill()
        // 1 ms a key, looking at its sockets after every KiB: it would take 20 s.
        try server.start(
            ["--key-load-delay", "1000", "--loading-process-events-interval-bytes", "1024"], until: "initialized")
        try await Client.with(server.unix) { client in
            await client.state {
                if case .disconnected(let reason) = $0 { reason.contains(": LOADING") } else { false }
            }
            try server.loadFast()
            await client.ready()
            await expect(client.send("DBSIZE").value?.int, equals: 20_000)
        }
    }

    @Test func `a server with other answers is not Redis`() async throws {
        let listener = try TCPListener()
        try await Client.with(RedisEndpoint(.tcp(host: "127.0.0.1", port: listener.port))) { client in
            listener.acceptOnce(saying: "HTTP/1.1 400 Bad Request\r\n\r\n")
            await expect(client.breakReason().contains("not an answer of Redis: Protocol error, got \"H\""))
        }
    }

    @Test func `a server that never answers is dropped after the time for connecting`() async throws {
        let listener = try TCPListener()
        let endpoint = RedisEndpoint(.tcp(host: "127.0.0.1", port: listener.port))
        try await Client.with(endpoint, .with { $0.connectTimeout = 40 }) { client in
            await expect(client.breakReason().contains("not ready within 40 ms"))
            await expect(client.breakReason().contains("not ready within 40 ms"))
        }
    }
}
