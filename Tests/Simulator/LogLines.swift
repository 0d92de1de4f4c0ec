import EventLoops
import Logging

/// The newest warnings and errors in a simulated shard's log.
final class LogLines: Sendable {
    struct Line: Sendable {
        let event: String
        let level: Logger.Level
        let fields: [String: String]
    }

    private static let most = 1_000
    private let kept = Locked<[Line]>([])

    /// The lines of one event.
    func of(_ event: String) -> [Line] { kept.withLock(\.self).filter { $0.event == event } }

    fileprivate func add(_ line: Line) {
        kept.withLock { kept in
            if kept.count >= Self.most { kept.removeFirst(Self.most / 2) }
            kept.append(line)
        }
    }
}

struct KeepingLogHandler: LogHandler {
    let lines: LogLines
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.warning

    init(_ lines: LogLines) { self.lines = lines }

    func log(event: LogEvent) {
        let fields = (event.metadata ?? [:]).mapValues { "\($0)" }
        lines.add(.init(event: "\(event.message)", level: event.level, fields: fields))
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }
}
