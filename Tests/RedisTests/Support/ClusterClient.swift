import EventLoops
import TestSupport

@testable import Redis

/// A `ClusterLane` on a loop of its own, for tests to await.
actor ClusterClient {
    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let seeds: RedisClusterSeeds
    private let options: RedisOptions
    private lazy var directory = ClusterDirectory(loop: loop, seeds: seeds, name: "directory", options: options)
    private lazy var lane = ClusterLane(loop: loop, directory: directory, name: "lane", options: options)
    private var states = Events<ClusterLane.State>()
    private var number = 0
    private(set) var falls = 0

    private init(_ seeds: RedisClusterSeeds, _ options: RedisOptions) throws {
        self.seeds = seeds
        self.options = options
        loop = try EventLoop(name: "cluster-test")
        loop.start()
    }

    /// Runs `body` with a client that is up, and ends it afterwards.
    static func with(
        _ cluster: TwoMasters, _ options: RedisOptions = .quick, _ body: (ClusterClient) async throws -> Void
    ) async throws {
        guard case .cluster(let seeds) = try RedisLocation(url: cluster.url) else {
            throw RedisEndpointError(message: "no cluster")
        }
        try await with(seeds, options, body)
    }

    static func with(
        _ seeds: RedisClusterSeeds, _ options: RedisOptions = .quick, _ body: (ClusterClient) async throws -> Void
    ) async throws {
        let client = try ClusterClient(seeds, options)
        await client.connect()
        let result: Result<Void, any Error>
        do {
            await client.up()
            result = .success(try await body(client))
        } catch {
            result = .failure(error)
        }
        await client.end()
        client.loop.stop()
        client.loop.join()
        try result.get()
    }

    private func connect() {
        lane.onState = { [unowned self] state in
            assumeIsolated {
                if state != .up { $0.falls += 1 }
                $0.states.add(state)
            }
        }
        directory.onMap = { [unowned self] map, before in assumeIsolated { $0.lane.apply(map, before: before) } }
        directory.needsNews = true
        directory.start()
    }

    private func end() {
        directory.close()
        lane.close()
    }

    func up() async {
        _ = await withCheckedContinuation { states.wait(for: { $0 == .up }, $0) }
        falls = 0
    }

    /// The reason of the next fall.
    func fallReason() async -> String {
        let state = await withCheckedContinuation { states.wait(for: { $0 != .up }, $0) }
        if case .down(let reason) = state { return reason }
        return ""
    }

    func send(_ key: String, _ words: RedisArgument...) async -> Answer {
        await withCheckedContinuation { done in lane.send(words, key: key) { done.resume(returning: $0) } }
    }

    func run(_ script: RedisScript, _ first: String, _ second: String, _ argument: RedisArgument) async -> Answer {
        await withCheckedContinuation { done in
            lane.run(script, keys: [first, second], arguments: [argument]) { done.resume(returning: $0) }
        }
    }

    func everywhere(_ words: RedisArgument...) async -> [Answer] {
        await withCheckedContinuation { done in
            lane.everywhere { _ in
                words
            } done: {
                done.resume(returning: $0)
            }
        }
    }

    /// Sends this many commands at once, numbered on from the last ones. Returns their answers once all have arrived.
    func burst(
        _ count: Int, _ send: @Sendable (ClusterLane, Int, @escaping RedisConnection.Reply) -> Void
    ) async -> [Answer] {
        await withCheckedContinuation { done in
            var answers: [Answer] = []
            for _ in 0..<count {
                number += 1
                send(lane, number) {
                    answers.append($0)
                    if answers.count == count { done.resume(returning: answers) }
                }
            }
        }
    }
}
