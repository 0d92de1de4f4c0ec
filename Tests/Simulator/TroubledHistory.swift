import PresenceProtocol

@testable import PresenceServer

/// The common part of random histories in which servers have trouble between any script and its answer.
class TroubledHistory {
    let world: World
    let redis: SimulatedRedis
    var random: SplitMix64
    /// The number of scripts in 200 that are followed by trouble.
    let trouble: Int
    /// Nothing is harmed.
    var isQuiet = false
    private(set) var fault: HistoryFault?
    private(set) var tally: [String: Int] = [:]

    init(_ world: World, on redis: SimulatedRedis, _ random: SplitMix64, trouble: Int) {
        (self.world, self.redis, self.random, self.trouble) = (world, redis, random, trouble)
    }

    func draw(_ range: ClosedRange<Int>) -> Int { .random(in: range, using: &random) }
    func fail(_ text: String) { fault = fault ?? HistoryFault(description: "at \(world.now): \(text)") }
    func count(_ what: String) { tally[what, default: 0] += 1 }

    /// Draws whether a server has trouble after it has run a script.
    ///
    /// - Returns: Its place.
    func drawTrouble(_ incarnation: String) -> Int? {
        guard !isQuiet, draw(0...199) < trouble,
            let place = world.shards.firstIndex(where: { $0.logic.link.incarnation == incarnation })
        else { return nil }
        count("harms")
        return place
    }
}

extension World {
    /// Ends all trouble, and waits until all servers are live.
    func calm() throws {
        for shard in shards {
            shard.wakeUp()
            shard.stopHolding()
        }
        try run(until: "all are live", within: 120_000) { [self] in shards.allSatisfy { $0.logic.link.isLive } }
    }
}
