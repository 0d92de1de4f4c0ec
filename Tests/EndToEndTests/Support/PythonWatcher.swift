import Foundation
import TestSupport

/// A client that shares no line with ours: watcher.py, on the WebSocket library of Debian's Python.
final class PythonWatcher: Sendable {
    /// Its state after each received message.
    let sightings: Sightings<Held>
    let process: ChildProcess

    struct Held: Decodable, Sendable {
        var people: [String: Registers]
        var typing: [String]
        /// The number of events so far.
        var events: Int
        var live: Bool

        struct Registers: Decodable, Hashable, Sendable {
            var presence: Presence?
            var profile: Profile?
        }

        struct Presence: Decodable, Hashable, Sendable {
            var version: Int64
            var status: String
            var since: Int64?
            var lastSeen: Int64?
            var text: String?
            var devices: [String]?
        }

        struct Profile: Decodable, Hashable, Sendable {
            var version: Int64
            var displayName: String?
            var photoURL: String?
        }
    }

    init(of server: Presenced, token: String, conversation: String = "", users: [String]) throws {
        let (stream, continuation) = AsyncStream<Held>.makeStream()
        let words = [Self.python, Self.script, server.url.absoluteString, token, conversation] + users
        process = try ChildProcess(words) { line in
            guard let line else { return continuation.finish() }
            // A line that is not JSON ends it: the test then times out and shows the earlier lines.
            guard let held = try? JSONDecoder().decode(Held.self, from: Data(line.utf8)) else { return }
            continuation.yield(held)
        }
        sightings = Sightings(stream)
    }

    /// Whether Debian's Python has the library.
    static let isAvailable: Bool = {
        guard let process = try? ChildProcess([python, "-c", "import websockets"], complaints: "/dev/null") else {
            return false
        }
        return process.waitForStatus() == 0
    }()

    private static let python = "/usr/bin/python3"
    private static let script = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "watcher.py").path
}
