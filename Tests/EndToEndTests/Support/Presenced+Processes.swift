import Foundation
import TestSupport

extension Presenced {
    /// The process of its own Redis; `nil` while there is none.
    var redisChild: pid_t? {
        directory.processes.first { process in
            let name = FileManager.default.contents(atPath: "/proc/\(process)/comm") ?? Data()
            return String(decoding: name, as: UTF8.self).hasPrefix("redis-server")
        }
    }

    /// Waits until no process uses the data directory.
    func untilNothingIsLeft() async throws {
        try await Patience.until("no process in \(directory.path): \(directory.processes)") {
            directory.processes.isEmpty
        }
    }
}

extension TemporaryDirectory {
    /// The log of all servers with this data directory.
    var logs: String {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        let contents = names.filter { $0.hasPrefix("server-") }.sorted().map {
            FileManager.default.contents(atPath: file($0)) ?? Data()
        }
        return contents.map { String(decoding: $0, as: UTF8.self) }.joined()
    }
}
