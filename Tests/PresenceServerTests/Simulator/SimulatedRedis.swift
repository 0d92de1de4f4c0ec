import Redis
import TestSupport

@testable import PresenceServer

/// A real Redis behind the simulation: scripts run at once, and what they publish is caught and handed on as the
/// simulation pleases.
final class SimulatedRedis {
    let server: RedisServer
    private var admin: BlockingRedis
    private var listener: BlockingRedis
    private(set) var failure: (any Error)?
    /// The simulation's shards by what they subscribed to.
    var publish: (_ channel: String, _ payload: [UInt8]) -> Void = { _, _ in }
    /// Not reachable: the connections are cut and cannot be made anew.
    var isGone = false
    /// Reachable, but nothing is answered.
    var isSilent = false

    /// What was asked, by script or command.
    var counts: [String: Int] = [:]

    init(partitions: Int) throws {
        server = try RedisServer()
        admin = try BlockingRedis(server.unix)
        listener = try BlockingRedis(server.unix)
        try listener.command("PSUBSCRIBE", "*")
    }

    func run(_ script: Script, keys: [String], arguments: [String]) -> Result<RedisValue, RedisFailure> {
        counts[script.rawValue, default: 0] += 1
        return attempt { () throws(RedisFailure) in
            try admin.run(
                script.redis, keys: keys.map(RedisArgument.string), arguments: arguments.map(RedisArgument.string))
        }
    }

    func command(_ words: [String]) -> Result<RedisValue, RedisFailure> {
        counts[words[0], default: 0] += 1
        return attempt { () throws(RedisFailure) in try admin.command(words.map(RedisArgument.string)) }
    }

    private func attempt(
        _ body: () throws(RedisFailure) -> RedisValue
    ) -> Result<RedisValue, RedisFailure> {
        let result: Result<RedisValue, RedisFailure>
        do throws(RedisFailure) { result = .success(try body()) } catch { result = .failure(error) }
        handOnPublished()
        return result
    }

    /// What was published comes before a mark that is published last.
    private func handOnPublished() {
        do {
            try admin.command("PUBLISH", "mark", "")
            while true {
                let words = try listener.receive().array ?? []
                guard words.count == 4, let channel = words[2].string, let payload = words[3].bytes else { continue }
                if channel == "mark" { return }
                publish(channel, payload)
            }
        } catch {
            failure = failure ?? error
        }
    }
}
