import Foundation

/// The output of a process of a crowd, a line of JSON each.
enum MillionLine {
    /// Its progress, every two seconds and at the end.
    struct Progress: Encodable {
        var event = "progress"
        /// Since the start.
        var seconds: Double
        /// Connected, authenticated and watching.
        var open: Int
        /// Existing sockets, including those that are opening.
        var sockets: Int
        /// Connections that failed, and those that ended; each is dialled again.
        var refused: Int
        var lost: Int
        /// The reason of the last of these.
        var lastEnding: String?
        var eventsReceived: Int
        var messagesReceived: Int
        var ownCPUSeconds: Double
        /// Share of one core, since the line before.
        var ownCPUShare: Double
        var ownResidentKilobytes: Int
        /// The part of it without a file: heap and stack.
        var ownAnonymousKilobytes: Int
        /// Reasons why this process, and not the servers, was the bottleneck since the line before.
        var bottlenecks: [String]
    }

    /// A user of this process made a change.
    struct Changed: Encodable {
        var event = "changed"
        var user: Int
        /// The watchers of the user, in any process.
        var watchers: [Int]
    }

    /// The server answered the change.
    struct Acknowledged: Encodable {
        var event = "acknowledged"
        var user: Int
        var latencyMilliseconds: Double
    }

    /// A change of `user` reached `watcher`, who belongs to this process.
    struct Received: Encodable {
        var event = "received"
        var user: Int
        var watcher: Int
        var latencyMilliseconds: Double
    }

    static func print(_ line: some Encodable) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(line) else { return }
        StandardFile.output.write(data + Data("\n".utf8))
    }
}
