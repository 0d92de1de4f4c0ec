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
}
