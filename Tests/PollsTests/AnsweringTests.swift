import Expectations
import Foundation
import Logging
import Synchronization
import TestSupport
import Testing
import Tokens

@testable import PresenceCore
@testable import PresenceServer

/// The input of a service manager's watchdog: whether the loops of all shards run.
@Suite struct AnsweringTests {
    @Test func `a server with one hanging loop does not answer until it continues`() async throws {
        let redis = try RedisServer()
        let secret = TokenSecret()
        var configuration = ServerConfiguration()
        (configuration.port, configuration.shards) = (0, 2)
        let server = Server(
            configuration: configuration,
            authenticator: try await Authenticator(configuration: configuration.auth, secret: secret),
            redis: redis.url, logger: Logger(label: "answering") { _ in SwiftLogNoOpLogHandler() },
            features: Features.all + [Hanging.self])
        let port = try await server.start()
        await server.ping()
        let call = Task {
            try await PollsClient.onThread { _ = try PollsClient.get("/v1/hang", port: port, token: "none") }
        }
        try await PollsClient.onThread { Hanging.hangs.wait() }
        let hasAnswered = Answered()
        let answer = Task {
            await server.ping()
            hasAnswered.value.store(true, ordering: .relaxed)
        }
        // A running loop answers within a few ms.
        try await Task.sleep(for: .milliseconds(300))
        let answeredMeanwhile = hasAnswered.value.load(ordering: .relaxed)
        expect(!answeredMeanwhile)
        Hanging.goesOn.signal()
        await answer.value
        try await call.value
        await server.stop()
    }
}

private final class Answered: Sendable {
    let value = Atomic(false)
}

/// Blocks the loop of the shard that receives its request.
private final class Hanging: Feature {
    static let plan = FeaturePlan(name: "hanging")
    static let (hangs, goesOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))

    init(_ shard: ShardLogic) {}

    func register(in registry: inout Registry) {
        registry.route("GET", "/v1/hang", for: .everyone) { call in
            Self.hangs.signal()
            Self.goesOn.wait()
            call.respond(.json(200, "{}"))
        }
    }
}
