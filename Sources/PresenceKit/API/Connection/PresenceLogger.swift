/// Receives the client's log lines: changes of the connection with their reasons, refused requests, failed writes to
/// the storage. They contain no tokens and no texts of users.
///
/// On Apple platforms ``osLog(subsystem:)`` writes to the unified log. With swift-log:
///
/// ```swift
/// let log = Logger(label: "presence")
/// let logger = PresenceLogger { level, message in
///     log.log(level: level == .error ? .error : level == .notice ? .notice : .debug, "\(message)")
/// }
/// ```
public struct PresenceLogger: Sendable {
    /// The importance of a line, in ascending order.
    public enum Level: String, Codable, Sendable, CaseIterable, Comparable {
        /// Routine events.
        case debug
        /// Events of interest to an operator, such as connects and disconnects.
        case notice
        /// Faults that need attention.
        case error

        public static func < (a: Level, b: Level) -> Bool {
            allCases.firstIndex(of: a)! < allCases.firstIndex(of: b)!
        }
    }

    private let write: @Sendable (Level, String) -> Void

    /// - Parameter write: called from any thread; it should return quickly.
    public init(_ write: @escaping @Sendable (Level, String) -> Void) {
        self.write = write
    }

    /// Writes a line.
    public func log(_ level: Level, _ message: String) { write(level, message) }
}
