import Expectations
import Installation
import Logging
import PresenceCore
import Testing
import Tokens
import WebSockets

@testable import PresenceServer

/// A server may be stopped at any moment of its start: the start then fails, and never waits for an event that will not
/// happen.
struct StoppedStartTests {
    /// No Redis listens there, so a start would wait for it.
    private static let redis = "unix:///nonexistent/redis.sock"
    private static let logger = Logger(label: "stopped") { _ in SwiftLogNoOpLogHandler() }

    private static func configuration() -> ServerConfiguration {
        var configuration = ServerConfiguration()
        (configuration.port, configuration.shards) = (0, 1)
        return configuration
    }

    /// The error of a start; records an issue if the start has not ended after 10 s.
    private func failure(of start: @escaping @Sendable () async throws -> Void) async throws -> String? {
        let (ends, end) = AsyncStream<String?>.makeStream()
        Task {
            do {
                try await start()
                end.yield(nil)
            } catch { end.yield("\(error)") }
        }
        let patience = Task {
            try await Task.sleep(for: .seconds(10))
            end.finish()
        }
        defer { patience.cancel() }
        for await result in ends { return result }
        Issue.record("the start waits")
        return nil
    }

    @Test func `a shard that was stopped first is not started`() async throws {
        let configuration = Self.configuration()
        let limits = configuration.limits
        let workers = WorkerPools([], configuration)
        let shard = try Shard(
            .init(
                configuration: configuration,
                authenticator: try await Authenticator(configuration: configuration.auth, secret: TokenSecret()),
                redis: try configuration.redis.location(Self.redis), places: ConnectionPlaces(10),
                addresses: AddressLimits(limits), failedTokens: FailedTokens(limits),
                outboxes: OutboxBudget(limits.outboxBytes), inbox: AddressBudget(limits.inboxBytes), workers: workers,
                transfers: Transfers(limits), shared: SharedObjects(), isAlone: true, logger: Self.logger,
                name: "shard-0",
                place: (0, 1), identity: nil, features: []))
        shard.loop.start()
        await shard.drain()
        await shard.stop()
        shard.loop.stop()
        shard.loop.join()
        // Its loop has ended; its executor runs later jobs on another thread.
        try await expect(failure { try await shard.start(family: [shard]) }, equals: "stopped")
    }

    @Test func `a server that was stopped first is not started`() async throws {
        let configuration = Self.configuration()
        let server = Server(
            configuration: configuration,
            authenticator: try await Authenticator(configuration: configuration.auth, secret: TokenSecret()),
            redis: Self.redis, logger: Self.logger)
        await server.stop()
        try await expect(failure { _ = try await server.start() }, equals: "stopped")
        // Nothing is left behind.
        await server.stop()
    }
}
