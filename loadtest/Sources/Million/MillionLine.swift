import Foundation

/// What a process of a crowd tells on its standard output, a line of JSON each.
enum MillionLine {
    /// How far it is, every two seconds and at the end.
    struct Progress: Encodable {
        var event = "progress"
        /// Since the start.
        var seconds: Double
        /// Connected, authenticated and watching.
        var open: Int
        /// Sockets that exist, those included that are only being opened.
        var sockets: Int
        /// Connections that never came about, and those that ended; each is dialled again.
        var refused: Int
        var lost: Int
        /// Why the last of these was.
        var lastEnding: String?
        var eventsReceived: Int
        var messagesReceived: Int
        var ownCPUSeconds: Double
        /// Of one core, since the line before.
        var ownCPUShare: Double
        var ownResidentKilobytes: Int
        /// Of these, what is not a file's: heap and stack.
        var ownAnonymousKilobytes: Int
        /// What made this process, and not the servers, the slow one since the line before.
        var bottlenecks: [String]
    }

    /// A user of this process made a change.
    struct Changed: Encodable {
        var event = "changed"
        var user: Int
        /// Who will see it, wherever they are.
        var watchers: [Int]
    }

    /// The server answered the change.
    struct Acknowledged: Encodable {
        var event = "acknowledged"
        var user: Int
        var latencyMilliseconds: Double
    }

    /// A change of `user` reached `watcher`, who is of this process.
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
