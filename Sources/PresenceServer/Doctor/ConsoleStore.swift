import Installation
import PresenceCore
import Redis

/// The Redis of running servers, for a command-line tool. It blocks on Redis, so it must not be used on a loop.
struct ConsoleStore {
    let store: DoctorStore
    let location: RedisLocation
    let partitions: Partitions

    /// - Throws: ``ConsoleFailure`` if Redis cannot be reached, or no server of this version has used it.
    init(url: String, configuration: ServerConfiguration) throws(ConsoleFailure) {
        do throws(InvalidConfiguration) {
            location = try configuration.redis.location(url)
        } catch {
            throw ConsoleFailure(error.description)
        }
        let space = Partitions(configuration, database: location.database).space
        do throws(RedisFailure) {
            store = try DoctorStore(location)
            let format = try store[space.format].run("GET", space.format).string ?? ""
            guard let found = Partitions(format: format, in: space) else {
                throw .server(code: "ERR", message: "no server of this version has used it yet, or a later version has")
            }
            partitions = found
        } catch {
            throw ConsoleFailure("\(location): \(error)")
        }
    }

    private static let writer = "console"

    /// Runs a script of a partition as a server would; for that moment the tool counts as a server. Nothing is left if the tool
    /// dies.
    func run(
        _ call: ScriptCall, in keys: PartitionKeys, _ configuration: ServerConfiguration
    ) throws -> ScriptReply {
        let needsOffers = configuration.enabled(Features.all).contains { $0.plan.needsOffers(configuration) }
        let names = needsOffers ? PartitionKeys.offering(call.keys) : call.keys
        let answers = try store[keys.shards].runAll([
            ["MULTI"], ["SADD", keys.shards, Self.writer],
            ["EVAL", call.script.source, String(names.count)] + names + ["0"] + call.arguments(of: Self.writer),
            ["SREM", keys.shards, Self.writer], ["EXEC"],
        ])
        for case .failure(let failure) in answers { throw failure }
        guard case .success(.array(let results))? = answers.last, results.count == 3 else {
            throw ConsoleFailure("\(location): the transaction was not made")
        }
        if case .error(let message) = results[1] { throw ConsoleFailure("\(location): \(message)") }
        return ScriptReply(results[1])
    }
}
