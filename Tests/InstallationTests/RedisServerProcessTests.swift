import EventLoops
import Expectations
import Foundation
import Logging
import TestSupport
import Testing

@testable import Installation

/// Real children, in directories of their own.
@Suite struct RedisServerProcessTests {
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    /// Starts one, hands it over, and ends it, whatever happened.
    private func withRedis(
        in path: String, appendfsync: RedisServerProcess.AppendFsync = .everySecond,
        onEvent: @escaping @Sendable (RedisServerProcess.Event) -> Void = { _ in },
        _ body: (RedisServerProcess) async throws -> Void
    ) async throws {
        let process = try RedisServerProcess(
            directory: try DataDirectory(path), appendfsync: appendfsync, logger: logger, onEvent: onEvent)
        do {
            try await process.start()
            try await body(process)
        } catch {
            await process.stop()
            throw error
        }
        await process.stop()
        expect(process.processID, equals: nil)
    }

    @Test func `it answers after the start, and has ended after the stop`() async throws {
        let scratch = try ScratchDirectory()
        var child: Int32 = 0
        try await withRedis(in: scratch.path) { process in
            child = try #require(process.processID)
            expect(process.url, equals: "unix://\(process.socket)")
            expect(getpgid(child), equals: child)
            let redis = try PlainRedis(socket: process.socket)
            expect(redis.command("PING"), equals: "+PONG\r\n")
            expect(redis.command("CONFIG GET maxmemory-policy")?.contains("noeviction"), equals: true)
            expect(redis.command("CONFIG GET appendfsync")?.contains("\r\nno\r\n"), equals: true)
            expect(redis.command("CONFIG GET port")?.contains("\r\n0\r\n"), equals: true)
            expect(
                redis.command("CONFIG GET client-output-buffer-limit")?.contains("pubsub 268435456 67108864 60"),
                equals: true)
        }
        expect(!isAlive(child))
        expect(kill(child, 0) != 0, "a zombie is left")
    }

    @Test func `its data is there at the next start`() async throws {
        let scratch = try ScratchDirectory()
        for round in 0..<3 {
            try await withRedis(in: scratch.path, appendfsync: .always) { process in
                let redis = try PlainRedis(socket: process.socket)
                expect(redis.command("CONFIG GET appendfsync")?.contains("always"), equals: true)
                expect(redis.command("INCR rounds"), equals: ":\(round + 1)\r\n")
            }
        }
    }

    @Test func `one that dies is restarted with its data, each time`() async throws {
        let scratch = try ScratchDirectory()
        let events = Locked<[RedisServerProcess.Event]>([])
        try await withRedis(in: scratch.path, onEvent: { event in events.withLock { $0.append(event) } }) { process in
            for round in 1...3 {
                let child = try #require(process.processID)
                do {
                    let redis = try PlainRedis(socket: process.socket)
                    expect(redis.command("SET round \(round)"), equals: "+OK\r\n")
                }
                kill(child, SIGKILL)
                await eventually("Redis is back") { events.withLock { $0.count } == 2 * round }
                expect(process.processID != child)
                let redis = try PlainRedis(socket: process.socket)
                expect(redis.command("GET round"), equals: "$1\r\n\(round)\r\n")
            }
            let expected = [RedisServerProcess.Event.died(reason: "signal 9"), .restarted]
            expect(events.withLock { $0 }, equals: expected + expected + expected)
        }
        expect(events.withLock { $0.count }, equals: 6, "a stop is no death")
    }

    @Test(arguments: RedisServerProcess.AppendFsync.allCases)
    func `nothing that was answered is lost when it is killed`(appendfsync: RedisServerProcess.AppendFsync)
        async throws
    {
        let scratch = try ScratchDirectory()
        let (events, continuation) = AsyncStream<RedisServerProcess.Event>.makeStream()
        try await withRedis(in: scratch.path, appendfsync: appendfsync, onEvent: { continuation.yield($0) }) {
            process in
            let child = try #require(process.processID)
            var answered = 0
            let redis = try PlainRedis(socket: process.socket)
            let killer = Thread {
                // Some way into the second after which the log is synced.
                usleep(UInt32.random(in: 900_000...1_100_000))
                kill(child, SIGKILL)
            }
            killer.start()
            while redis.command("SET last \(answered + 1)") == "+OK\r\n" { answered += 1 }
            for await event in events where event == .restarted { break }
            let last = try PlainRedis(socket: process.socket).command("GET last")
            let kept = try #require(last.flatMap { Int($0.split(separator: "\r\n").last ?? "") })
            // One more may have been done whose answer did not arrive.
            expect((answered...answered + 1).contains(kept))
        }
    }

    @Test func `a stop in the pause before a restart does not wait it out`() async throws {
        let scratch = try ScratchDirectory()
        let (deaths, continuation) = AsyncStream<RedisServerProcess.Event>.makeStream()
        try await withRedis(in: scratch.path, onEvent: { continuation.yield($0) }) { process in
            kill(try #require(process.processID), SIGKILL)
            for await event in deaths where event != .restarted { break }
        }
    }

    @Test func `one that was stopped in its tracks is killed in the end`() async throws {
        let scratch = try ScratchDirectory()
        try await withRedis(in: scratch.path) { process in
            let child = try #require(process.processID)
            kill(child, SIGSTOP)
            // SIGTERM stays pending until the process resumes: resume it, as a machine that wakes up would.
            Task {
                try await Task.sleep(for: .milliseconds(50))
                kill(child, SIGCONT)
            }
        }
    }

    @Test func `a second one in the same directory is refused`() async throws {
        let scratch = try ScratchDirectory()
        try await withRedis(in: scratch.path) { first in
            await #expect {
                try await withRedis(in: scratch.path) { _ in }
            } throws: {
                "\($0)".contains(scratch.path) && "\($0)".contains("process \(getpid())")
            }
            let redis = try PlainRedis(socket: first.socket)
            expect(redis.command("PING"), equals: "+PONG\r\n")
        }
        try await withRedis(in: scratch.path) { _ in }
    }

    // MARK: Leftovers

    /// A Redis as a killed server would have left it.
    private func leftover(in path: String) async throws -> HandStarted {
        let program = try RedisServerProcess.findRedisServer()
        let old = try HandStarted([
            program, "--port", "0", "--unixsocket", path + "/redis.sock", "--dir", path, "--appendonly", "yes",
            "--save", "",
        ])
        await eventually("the leftover answers") { RedisServerProcess.probe(socket: path + "/redis.sock") == .ready }
        return old
    }

    @Test(arguments: [false, true])
    func `a leftover is ended, and none of its data is lost`(isStuck: Bool) async throws {
        let scratch = try ScratchDirectory()
        let old = try await leftover(in: scratch.path)
        let reply = try PlainRedis(socket: scratch.path + "/redis.sock").command("SET name ana")
        expect(reply, equals: "+OK\r\n")
        if isStuck {
            // It does not answer, and receives no SIGTERM until it resumes.
            kill(old.id, SIGSTOP)
            Task { [id = old.id] in
                try await Task.sleep(for: .milliseconds(200))
                kill(id, SIGCONT)
            }
        }
        try await withRedis(in: scratch.path) { process in
            expect(!isAlive(old.id))
            let redis = try PlainRedis(socket: process.socket)
            expect(redis.command("GET name"), equals: "$3\r\nana\r\n")
        }
    }

    @Test func `a stranger is not taken for one, even under its number`() async throws {
        let (scratch, elsewhere) = (try ScratchDirectory(), try ScratchDirectory())
        let stranger = try await leftover(in: elsewhere.path)
        let sleeper = try HandStarted(["/bin/sleep", "60"], in: scratch.path)
        _ = try scratch.write("\(stranger.id)\n", to: "redis.pid")
        try await withRedis(in: scratch.path) { _ in }
        expect(isAlive(stranger.id))
        expect(isAlive(sleeper.id))
    }

    // MARK: Places

    @Test func `a directory with a path too long for a socket has it elsewhere, always at the same place`() async throws
    {
        let scratch = try ScratchDirectory()
        let long = scratch.path + "/" + String(repeating: "long", count: 30)
        var sockets: Set<String> = []
        for _ in 0..<2 {
            try await withRedis(in: long) { process in
                sockets.insert(process.socket)
                let place = (process.socket as NSString).deletingLastPathComponent
                let attributes = try FileManager.default.attributesOfItem(atPath: place)
                expect(attributes[.posixPermissions] as? Int, equals: 0o700)
                let reply = try PlainRedis(socket: process.socket).command("PING")
                expect(reply, equals: "+PONG\r\n")
            }
        }
        expect(sockets.count, equals: 1)
        let place = (sockets.first! as NSString).deletingLastPathComponent
        expect(place.hasPrefix("/tmp/presence-") && !FileManager.default.fileExists(atPath: place))
    }

    @Test func `a place in tmp that others can enter is not used`() throws {
        let scratch = try ScratchDirectory()
        let directory = try DataDirectory(scratch.path + "/with space")
        let place = (try RedisServerProcess.socketPath(in: directory) as NSString).deletingLastPathComponent
        defer { rmdir(place) }
        chmod(place, 0o755)
        #expect(throws: StartFailure.self) { try RedisServerProcess.socketPath(in: directory) }
    }

    @Test func `a path with spaces and quotes works`() async throws {
        let scratch = try ScratchDirectory()
        try await withRedis(in: scratch.path + #"/a b "c" 'd'"#) { process in
            let reply = try PlainRedis(socket: process.socket).command("SET a b")
            expect(reply, equals: "+OK\r\n")
        }
    }

    @Test func `a failed start is explained in its own words`() async throws {
        let scratch = try ScratchDirectory()
        try await withRedis(in: scratch.path) { process in
            let reply = try PlainRedis(socket: process.socket).command("SET a b")
            expect(reply, equals: "+OK\r\n")
        }
        let log = scratch.path + "/appendonlydir/appendonly.aof.manifest"
        try Data("nonsense".utf8).write(to: URL(filePath: log))
        await #expect {
            try await withRedis(in: scratch.path) { _ in }
        } throws: {
            "\($0)".contains("Redis did not start (exit status 1)") && "\($0)".contains("AOF manifest")
        }
    }

    // MARK: Settings

    @Test func `config redis conf has the settings of the server's own Redis`() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../config/redis.conf")
        let lines = try String(contentsOf: file, encoding: .utf8).split(whereSeparator: \.isNewline)
        let said = Set(lines.filter { !$0.hasPrefix("#") }.map(String.init))
        let set = RedisServerProcess.sharedSettings.map { setting in
            ([setting.name] + setting.value.map { $0.isEmpty ? "\"\"" : $0 }).joined(separator: " ")
        }
        expect(said, equals: Set(set).union(["appendfsync always"]))
    }
}
