import Foundation
import Redis
import TestSupport

/// A sentinel that watches over one server, named `people`, as of a configuration epoch. It ends with this object.
final class SentinelProcess {
    let port: UInt16
    private let place: TemporaryDirectory
    private let process: ChildProcess

    /// - Parameters:
    ///   - masterPort: The port at which the server is asked, if not its plain one.
    ///   - settings: Lines for its configuration file.
    init(
        of server: RedisServer, at masterPort: UInt16? = nil, epoch: Int, port: UInt16? = nil, settings: [String] = []
    ) throws {
        self.port = try port ?? FreePort.find()
        place = try TemporaryDirectory()
        try Data(
            """
            port \(self.port)
            bind 127.0.0.1
            dir \(place.path)
            \(settings.joined(separator: "\n"))
            sentinel monitor people 127.0.0.1 \(masterPort ?? server.port) 1
            sentinel config-epoch people \(epoch)

            """.utf8
        ).write(to: URL(filePath: place.file("sentinel.conf")))
        let isUp = DispatchSemaphore(value: 0)
        process = try ChildProcess(["redis-server", place.file("sentinel.conf"), "--sentinel"]) { line in
            if line?.contains("+monitor master") != false { isUp.signal() }
        }
        isUp.wait()
    }
}
