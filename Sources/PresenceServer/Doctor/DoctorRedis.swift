import Foundation
import PresenceCore
import PresenceProtocol
import Redis

/// One Redis server as the doctor uses it: in small steps, and at most half of the time.
///
/// After each step it rests for as long as the step took, so that a busy Redis serves everybody else as before. What
/// the server will not do for the moment (its slots move, it has become a replica) is thrown, never an answer.
final class DoctorRedis {
    /// What an operator knows it by.
    let name: String
    private let connection: BlockingRedis

    /// A rest longer than this would only keep the operator waiting.
    private static let longestRest: Duration = .milliseconds(100)
    /// How often a change is tried again whose keys were changed by somebody else meanwhile.
    private static let attempts = 50

    init(_ endpoint: RedisEndpoint, name: String) throws(RedisFailure) {
        self.name = name
        connection = try BlockingRedis(endpoint)
    }

    /// A connection of its own that hears what is published on a channel, for answers that come by themselves.
    func listen(to channel: String, timeout: Milliseconds) throws(RedisFailure) -> BlockingRedis {
        let listener = try BlockingRedis(connection.endpoint, timeout: timeout)
        try listener.command("SUBSCRIBE", .string(channel))
        return listener
    }

    func ask(_ words: String...) throws(RedisFailure) -> RedisValue {
        try connection.command(words.map(RedisArgument.string))
    }

    /// Many commands and their answers in one step.
    func askAll(_ commands: [[String]]) throws(RedisFailure) -> [Result<RedisValue, RedisFailure>] {
        guard !commands.isEmpty else { return [] }
        let began = ContinuousClock.now
        let answers = try connection.pipeline(commands.map { $0.map(RedisArgument.string) })
        rest(.now - began)
        for case .failure(let failure) in answers where failure.isPassing { throw failure }
        return answers
    }

    /// Many answers of one moment: nothing changed between them. An error is a value among them. The second word of
    /// a command is a key; all of them belong to one partition.
    func askAtOnce(_ commands: [[String]]) throws(RedisFailure) -> [RedisValue] {
        guard !commands.isEmpty else { return [] }
        let began = ContinuousClock.now
        let words = commands.flatMap { [String($0.count)] + $0 }
        // Named as keys so that a server that no longer holds them says so.
        let keys = Set(commands.compactMap { $0.dropFirst().first })
        let answer = try connection.run(
            Self.moment, keys: keys.map(RedisArgument.string), arguments: words.map(RedisArgument.string))
        rest(.now - began)
        return answer.array ?? []
    }

    /// A script that only reads is answered also when memory or the disk is full; a transaction is not.
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

    /// Runs one of the server's own scripts, on Redis' own time.
    ///
    /// - Parameter incarnation: As which shard a script runs that writes for one.
    func run(_ call: ScriptCall, as incarnation: String = "") throws(RedisFailure) -> ScriptReply {
        let began = ContinuousClock.now
        let answer = try connection.run(
            call.script.redis, keys: call.keys.map(RedisArgument.string),
            arguments: ["0"].map(RedisArgument.string)
                + call.arguments(of: incarnation).map(RedisArgument.string))
        rest(.now - began)
        return ScriptReply(answer)
    }

    /// Changes something if it is still as it has to be for that, judged and changed in one: `decide` reads, and returns
    /// the commands to run, or `nil` if there is nothing to do any more.
    ///
    /// - Returns: Whether it was changed.
    func change(
        watching keys: [String], _ decide: () throws(RedisFailure) -> [[String]]?
    ) throws(RedisFailure) -> Bool {
        for _ in 0..<Self.attempts {
            _ = try connection.command((["WATCH"] + keys).map(RedisArgument.string))
            let commands: [[String]]?
            do throws(RedisFailure) {
                commands = try decide()
            } catch {
                // What it watched must not decide about the next change.
                _ = try? ask("UNWATCH")
                throw error
            }
            guard let commands else {
                _ = try ask("UNWATCH")
                return false
            }
            let answers = try askAll([["MULTI"]] + commands + [["EXEC"]])
            if try !answers.last!.get().isNull { return true }
        }
        return false
    }

    /// Whose replica it is; `nil` if it is a master, or does not let us know.
    func master() throws(RedisFailure) -> String? {
        let answer: RedisValue
        do throws(RedisFailure) {
            answer = try ask("ROLE")
        } catch .server {
            return nil
        }
        guard let words = answer.array, words.count > 2, words[0].string == "slave", let host = words[1].string,
            let port = words[2].int
        else { return nil }
        return host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    /// This server's time in ms.
    func now() throws(RedisFailure) -> Timestamp { Self.milliseconds(try ask("TIME")) }

    static func milliseconds(_ time: RedisValue) -> Timestamp {
        let parts = time.array?.compactMap(\.int) ?? []
        return parts.count == 2 ? parts[0] * 1_000 + parts[1] / 1_000 : 0
    }

    private func rest(_ time: Duration) {
        let rest = min(time, Self.longestRest)
        usleep(UInt32(rest / .microseconds(1)))
    }
}
