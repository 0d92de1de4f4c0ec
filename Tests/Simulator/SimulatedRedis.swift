import Redis
import TestSupport

@testable import PresenceCore
@testable import PresenceServer

/// A real Redis behind the simulation: scripts run immediately, and the simulation catches their published messages and
/// delivers them at times of its choice.
///
/// It serves one world at a time; `empty` prepares it for the next.
final class SimulatedRedis {
    var server: RedisServer { redis.server }
    private let redis: SpareRedis
    /// Whether its settings were changed, or it did not answer: no other world may use it.
    private var isSpoilt = false
    private var admin: BlockingRedis
    private var listener: BlockingRedis
    /// Milliseconds for an answer: beside other suites a process may wait many seconds for a processor.
    private static let patience: Int64 = 60_000
    private(set) var failure: (any Error)?
    /// Changed scripts: a mutation's.
    private let substitutes: [Script: RedisScript]
    /// Called with every published message.
    var publish: (_ channel: String, _ payload: [UInt8]) -> Void = { _, _ in }
    /// Called before every script.
    var runs: (_ script: Script, _ arguments: [String]) -> Void = { _, _ in }
    /// Called after every script.
    var ran: (_ script: Script, _ arguments: [String], _ answer: Result<RedisValue, RedisFailure>) -> Void = {
        _, _, _ in
    }
    /// Returns why Redis rejects a script (or a command, without one) now; `nil` if it does not.
    var refuse: (_ script: Script?, _ words: [String]) -> RedisFailure? = { _, _ in nil }
    /// Unreachable: the connections are cut and cannot be made.
    var isGone = false {
        didSet {
            guard isGone else { return }
            unheard = []
            life += 1
        }
    }
    /// Grows when it ends: commands on their way then do not reach its successor.
    private(set) var life = 0
    /// Reachable, but does not answer; commands sent in this time run afterwards.
    var isSilent = false {
        didSet {
            guard !isSilent else { return }
            let waiting = unheard
            unheard = []
            waiting.forEach { $0() }
        }
    }
    private var unheard: [() -> Void] = []

    /// The number of calls, by script or command.
    var counts: [String: Int] = [:]

    init(
        substitutes: [Script: RedisScript] = [:], features: [any Feature.Type] = Features.all
    ) throws {
        redis = try SpareRedis.take(knowing: Script.all(of: features).map { substitutes[$0] ?? $0.redis })
        self.substitutes = substitutes
        admin = try BlockingRedis(redis.server.unix, timeout: Self.patience)
        listener = try BlockingRedis(redis.server.unix, timeout: Self.patience)
        try listener.command("PSUBSCRIBE", "*")
    }

    deinit {
        if !isSpoilt { redis.giveBack() }
    }

    private func compiled(_ script: Script) -> RedisScript { substitutes[script] ?? script.redis }

    /// Ready for another world.
    func empty() throws {
        // Actions still waiting were left by an earlier world.
        unheard = []
        isGone = false
        isSilent = false
        counts = [:]
        publish = { _, _ in }
        runs = { _, _ in }
        ran = { _, _, _ in }
        refuse = { _, _ in nil }
        failure = nil
        try admin.command("FLUSHALL")
    }

    /// Runs an action as soon as Redis answers again.
    func whenHeard(_ action: @escaping () -> Void) { unheard.append(action) }

    // MARK: Commands

    func run(_ script: Script, keys: [String], arguments: [String]) -> Result<RedisValue, RedisFailure> {
        counts[script.name, default: 0] += 1
        if let refusal = refuse(script, []) {
            ran(script, arguments, .failure(refusal))
            return .failure(refusal)
        }
        runs(script, arguments)
        var words: [RedisArgument] = ["EVALSHA", .string(compiled(script).sha1), .integer(Int64(keys.count))]
        words += keys.map(RedisArgument.string)
        words += arguments.map(RedisArgument.string)
        let result = script.publishes ? runAndListen(words) : attempt(words)
        let answer = script == .fence ? result.map(Self.sorted) : result
        ran(script, arguments, answer)
        return answer
    }

    func command(_ words: [String]) -> Result<RedisValue, RedisFailure> {
        counts[words[0], default: 0] += 1
        if words[0] == "CONFIG" { isSpoilt = true }
        if let refusal = refuse(nil, words) { return .failure(refusal) }
        return ask(words)
    }

    /// The same for direct access, without rejections.
    func ask(_ words: [String]) -> Result<RedisValue, RedisFailure> {
        if words[0] == "PUBLISH" {
            publish(words[1], Array(words[2].utf8))
            return .success(.integer(1))
        }
        return attempt(words.map(RedisArgument.string))
    }

    /// Redis returns the members of a set in no order; histories need one.
    private static func sorted(_ answer: RedisValue) -> RedisValue {
        guard let names = answer.array?.compactMap(\.string) else { return answer }
        return .array(names.sorted().map { .bytes(Array($0.utf8)) })
    }

    private func attempt(_ words: [RedisArgument]) -> Result<RedisValue, RedisFailure> {
        do throws(RedisFailure) {
            return .success(try admin.command(words))
        } catch {
            if case .server = error { return .failure(error) }
            failure = failure ?? error
            isSpoilt = true
            return .failure(error)
        }
    }

    /// Delivers the messages that the script published: they arrive before a mark that is published last, in the same
    /// packet.
    private func runAndListen(_ words: [RedisArgument]) -> Result<RedisValue, RedisFailure> {
        do {
            let answers = try admin.pipeline([words, ["PUBLISH", "mark", ""]])
            while true {
                let heard = try listener.receive().array ?? []
                guard heard.count == 4, let channel = heard[2].string, let payload = heard[3].bytes else { continue }
                if channel == "mark" { return answers[0] }
                publish(channel, payload)
            }
        } catch {
            failure = failure ?? error
            isSpoilt = true
            return .failure(error)
        }
    }

    // MARK: Back in time

    /// Keeps a copy of everything, as a backup or a replica that is behind would.
    func remember() throws { try copy(from: 0, to: 1) }

    /// Restores the last stored data, or none if nothing was stored.
    func goBack() throws { try copy(from: 1, to: 0) }

    private func copy(from: Int, to: Int) throws {
        try admin.command(
            "EVAL",
            """
            redis.call('SELECT', ARGV[2])
            redis.call('FLUSHDB')
            redis.call('SELECT', ARGV[1])
            for _, key in ipairs(redis.call('KEYS', '*')) do redis.call('COPY', key, key, 'DB', ARGV[2]) end
            redis.call('SELECT', 0)
            """, 0, .integer(Int64(from)), .integer(Int64(to)))
        try admin.command("SELECT", 0)
    }
}

extension Script {
    /// Whether it may publish anything.
    fileprivate var publishes: Bool {
        switch self {
        case .join, .renew, .sweep, .fence, .conversation, .reserve, .joining, .enroll, .receipts, .receiptsPage,
            .messages, .catchUp, .logPage, .leadCourier, .queueAdd, .queueTake, .queueLeft,
            .queueSettle,
            .takeMail, .settleMail:
            false
        default: true
        }
    }
}
