import Foundation
import Installation
import PresenceCore
import Redis

extension Doctor {
    /// The URL of the Redis that a server with this configuration uses.
    ///
    /// - Throws: ``DoctorFailure`` if the server would use a Redis of its own, and that Redis is not running.
    public static func place(of configuration: ServerConfiguration) throws(DoctorFailure) -> String {
        if let url = configuration.redis.url { return url }
        let path = configuration.dataDirectory ?? DataDirectory.standardPath()
        // A check must not create directories.
        guard FileManager.default.fileExists(atPath: path) else {
            throw DoctorFailure(
                "no Redis is configured (--redis), and there is no data directory \(path) of a server with one of its own"
            )
        }
        do throws(StartFailure) {
            let directory = try DataDirectory(path)
            let socket = try RedisServerProcess.socketPath(in: directory)
            switch RedisServerProcess.probe(socket: socket) {
            case .ready: return "unix://" + socket
            case .loading: throw StartFailure("the Redis of the server in \(directory.path) is still loading its data")
            case .silent: break
            }
            guard let server = DirectoryLock.holder(of: directory) else {
                throw StartFailure(
                    "no server runs on the data directory \(directory.path), so its Redis is not running either: "
                        + "start the server to check its data")
            }
            throw StartFailure(
                "the server on the data directory \(directory.path) (process \(server)) is running, "
                    + "but its Redis does not answer")
        } catch {
            throw DoctorFailure(error.message)
        }
    }
}
