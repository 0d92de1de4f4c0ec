import Foundation
import PresenceCore
import PresenceProtocol
import Redis

/// One Redis server, used in small steps and at most half of the time.
///
/// After each step the doctor rests for as long as the step took, so that a busy Redis can serve its other clients. Refusals
/// for the moment (slots that move, a master that became a replica) are thrown and never returned as answers.
final class DoctorRedis {
    /// The name shown to the operator.
    let name: String
    private let connection: BlockingRedis

    /// The longest rest; a longer one would only keep the operator waiting.
    private static let longestRest: Duration = .milliseconds(100)
    /// How often a change is retried if another client changes its keys meanwhile.
    private static let attempts = 50

    init(_ endpoint: RedisEndpoint, name: String) throws(RedisFailure) {
        self.name = name
        connection = try BlockingRedis(endpoint)
    }

    /// A connection of its own that subscribes to a channel, for replies that arrive unasked.
    func listen(to channel: String, timeout: Milliseconds) throws(RedisFailure) -> BlockingRedis {
        let listener = try BlockingRedis(connection.endpoint, timeout: timeout)
        try listener.command("SUBSCRIBE", .string(channel))
        return listener
    }

    func run(_ words: String...) throws(RedisFailure) -> RedisValue {
        try connection.command(words.map(RedisArgument.string))
    }

    /// Runs many commands in one step.
    func runAll(_ commands: [[String]]) throws(RedisFailure) -> [Result<RedisValue, RedisFailure>] {
        guard !commands.isEmpty else { return [] }
        let began = ContinuousClock.now
        let answers = try connection.pipeline(commands.map { $0.map(RedisArgument.string) })
        rest(.now - began)
        for case .failure(let failure) in answers where failure.isPassing { throw failure }
        return answers
    }

    /// Runs many commands atomically. Errors are values among the replies. The second word of each command is a key; all keys
    /// belong to one partition.
    func runAtOnce(_ commands: [[String]]) throws(RedisFailure) -> [RedisValue] {
        guard !commands.isEmpty else { return [] }
        let began = ContinuousClock.now
        let words = commands.flatMap { [String($0.count)] + $0 }
        // The keys are declared, so that a server that no longer owns them refuses the script.
        let keys = Set(commands.compactMap { $0.dropFirst().first })
        let answer = try connection.run(
            Self.moment, keys: keys.map(RedisArgument.string), arguments: words.map(RedisArgument.string))
        rest(.now - began)
        return answer.array ?? []
    }

    /// A read-only script, because Redis runs it even if memory or the disk is full, but not a transaction.
    private static let moment = RedisScript(
        name: "moment",
        source: """
            #!lua flags=no-writes
            local replies, index = {}, 1
            while index <= #ARGV do
                local last = index + tonumber(ARGV[index])
                replies[#replies + 1] = redis.pcall(unpack(ARGV, index + 1, last))
                index = last + 1
            end
            return replies
            """)

    /// Runs one of the servers' scripts, with the time of Redis.
    ///
    /// - Parameter incarnation: The shard in whose name a script writes.
    func run(_ call: ScriptCall, as incarnation: String = "") throws(RedisFailure) -> ScriptReply {
        let began = ContinuousClock.now
        let answer = try connection.run(
            call.script.redis, keys: call.keys.map(RedisArgument.string),
            arguments: ["0"].map(RedisArgument.string)
                + call.arguments(of: incarnation).map(RedisArgument.string))
        rest(.now - began)
        return ScriptReply(answer)
    }

    /// Changes data if it still meets the condition, both atomically: `decide` reads the data, and returns the commands to run,
    /// or `nil` if there is nothing left to do.
    ///
    /// - Returns: Whether the data was changed.
    func change(
        watching keys: [String], _ decide: () throws(RedisFailure) -> [[String]]?
    ) throws(RedisFailure) -> Bool {
        for _ in 0..<Self.attempts {
            _ = try connection.command((["WATCH"] + keys).map(RedisArgument.string))
            let commands: [[String]]?
            do throws(RedisFailure) {
                commands = try decide()
            } catch {
                // These watched keys must not affect the next change.
                _ = try? run("UNWATCH")
                throw error
            }
            guard let commands else {
                _ = try run("UNWATCH")
                return false
            }
            let answers = try runAll([["MULTI"]] + commands + [["EXEC"]])
            if try !answers.last!.get().isNull { return true }
        }
        return false
    }

    /// The master of this server; `nil` if the server is a master itself, or refuses the question.
    func master() throws(RedisFailure) -> String? {
        let answer: RedisValue
        do throws(RedisFailure) {
            answer = try run("ROLE")
        } catch .server {
            return nil
        }
        guard let words = answer.array, words.count > 2, words[0].string == "slave", let host = words[1].string,
            let port = words[2].int
        else { return nil }
        return host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    /// The time of this server in ms.
    func now() throws(RedisFailure) -> Timestamp { Self.milliseconds(try run("TIME")) }

    static func milliseconds(_ time: RedisValue) -> Timestamp {
        let parts = time.array?.compactMap(\.int) ?? []
        return parts.count == 2 ? parts[0] * 1_000 + parts[1] / 1_000 : 0
    }

    private func rest(_ time: Duration) {
        let rest = min(time, Self.longestRest)
        usleep(UInt32(rest / .microseconds(1)))
    }
}
