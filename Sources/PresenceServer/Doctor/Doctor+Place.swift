import Foundation
import Installation
import PresenceCore
import Redis

extension Doctor {
    /// The URL of the Redis that a server with this configuration uses.
    ///
    /// - Throws: ``DoctorFailure`` if it would be one of its own and does not run now.
    public static func place(of configuration: ServerConfiguration) throws(DoctorFailure) -> String {
        if let url = configuration.redis.url { return url }
        let path = configuration.dataDirectory ?? DataDirectory.standardPath()
        // Looking makes no directories.
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
            case .loading: throw StartFailure("the Redis of the server in \(directory.path) still reads its data")
            case .silent: break
            }
            guard let server = DirectoryLock.holder(of: directory) else {
                throw StartFailure(
                    "no server runs on the data directory \(directory.path), and so its Redis does not either: "
                        + "what it holds can be looked at when the server has been started")
            }
            throw StartFailure(
                "the server on the data directory \(directory.path) (process \(server)) runs, "
                    + "but its Redis does not answer")
        } catch {
            throw DoctorFailure(error.message)
        }
    }
}
