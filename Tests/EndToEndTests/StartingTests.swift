import Expectations
import Foundation
import TestSupport
import Testing

/// The error messages when a server cannot start.
struct StartingTests {
    /// Runs a server that must not start: it exits with an error status, prints nothing on standard output, and prints
    /// the reason as the only sentence on standard error that is not a log line.
    private func reason(
        _ words: [String], directory: TemporaryDirectory, settings: [String: String] = [:],
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> String {
        let result = try await Presenced.run(
            ["serve", "--port", "0", "--data-dir", directory.path] + words, settings: settings)
        expect(result.status != 0 && result.status < 128, "\(result)", sourceLocation: sourceLocation)
        expect(result.output.isEmpty, "\(result)", sourceLocation: sourceLocation)
        let sentences = result.complaints.filter { !$0.starts(with: #/\d{4}-\d\d-\d\dT/#) }
        expect(sentences.count, equals: 1, "\(result)", sourceLocation: sourceLocation)
        expect(sentences.first, equals: result.complaints.last, "\(result)", sourceLocation: sourceLocation)
        return try #require(sentences.first, "\(result)", sourceLocation: sourceLocation)
    }

    @Test func `a port that is taken is named`() async throws {
        let directory = try TemporaryDirectory()
        let server = try await Presenced()
        let refusal = try await reason(["--port", "\(server.port)"], directory: directory)
        expect(refusal.contains("\(server.port)"), "\(refusal)")
        expect(directory.processes.isEmpty)
    }

    @Test func `two servers share a port only if both allow it`() async throws {
        let redis = try RedisServer()
        let directory = try TemporaryDirectory()
        let first = try await Presenced(directory: directory, redis: redis.url, arguments: ["--share-port"])
        let second = try await Presenced(
            directory: directory, redis: redis.url, arguments: ["--share-port", "--port", "\(first.port)"])
        expect(second.port, equals: first.port)
        _ = try await reason(
            ["--port", "\(first.port)", "--redis", redis.url], directory: directory)
    }

    @Test func `a data directory in use is named, with the process that uses it`() async throws {
        let server = try await Presenced()
        let refusal = try await reason([], directory: server.directory)
        expect(refusal.contains(server.directory.path) && refusal.contains("\(server.process?.id ?? 0)"), "\(refusal)")
        expect(server.directory.processes.count, equals: 2)
    }

    @Test(arguments: ["lingre: 3s", "heartbeat:\n  intervall: 3s", "linger: soon", "shards: many", "limits: 7"])
    func `an unknown key or an invalid value is named`(line: String) async throws {
        let directory = try TemporaryDirectory()
        let file = directory.file("presenced.yaml")
        try line.write(toFile: file, atomically: false, encoding: .utf8)
        let key = try #require(line.firstMatch(of: #/(?:^|\n  )([a-z]+)(?=: [^\n]|:?$)/#)?.1)
        let refusal = try await reason(["--config", file], directory: directory)
        expect(refusal.contains(key) && refusal.contains(file), "\(refusal)")
        expect(directory.processes.isEmpty)
    }

    @Test func `an unknown PRESENCE variable is named`() async throws {
        let directory = try TemporaryDirectory()
        let refusal = try await reason([], directory: directory, settings: ["lingre": "3s"])
        expect(refusal.contains("PRESENCE_LINGRE"), "\(refusal)")
    }

    @Test func `a misspelled flag is named`() async throws {
        let directory = try TemporaryDirectory()
        let result = try await Presenced.run(["serve", "--prot", "0", "--data-dir", directory.path])
        expect(result.status != 0 && result.output.isEmpty)
        expect(result.complaints.first?.contains("--prot"), equals: true, "\(result)")
    }

    @Test(arguments: ["http://localhost", "redis://", "rediss://", "redis://host:port"])
    func `an invalid Redis address is refused`(url: String) async throws {
        let refusal = try await reason(["--redis", url], directory: try TemporaryDirectory())
        expect(refusal.contains("redis.url") && refusal.contains("--redis"), "\(refusal)")
    }

    @Test func `a Redis whose data has another number of partitions is refused`() async throws {
        let redis = try RedisServer()
        let first = try await Presenced(redis: redis.url, settings: ["partitions": "16"])
        let refusal = try await reason(["--redis", redis.url], directory: first.directory)
        expect(refusal.contains("16") && refusal.contains("128") && refusal.contains("partitions"), "\(refusal)")
        expect(first.process != nil)
    }

    @Test func `a Redis that evicts is refused`() async throws {
        let redis = try RedisServer(["--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"])
        let directory = try TemporaryDirectory()
        let refusal = try await reason(["--redis", redis.url], directory: directory)
        expect(refusal.contains("allkeys-lru") && refusal.contains("noeviction"), "\(refusal)")
    }

    @Test func `a server waits for a Redis that is not there yet`() async throws {
        let redis = try RedisServer()
        redis.kill()
        let directory = try TemporaryDirectory()
        let url = redis.url
        async let starting = Presenced(directory: directory, redis: url)
        try await Patience.until("a log line with what it waits for") { directory.logs.contains("waiting for Redis") }
        try redis.start()
        let server = try await starting
        try await expect(server.http("GET", "/readyz").status, equals: 200)
        try await expect(server.stop(), equals: 0)
    }
}
