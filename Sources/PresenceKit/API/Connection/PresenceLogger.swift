/// Takes the lines that a client writes about itself: how the connection is and why, what was refused, what could not be
/// kept. They name no tokens and no texts of users.
///
/// On Apple's systems ``osLog(subsystem:)`` writes to the unified log. With swift-log:
///
/// ```swift
/// let log = Logger(label: "presence")
/// let logger = PresenceLogger { level, message in
///     log.log(level: level == .error ? .error : level == .notice ? .notice : .debug, "\(message)")
/// }
/// ```
public struct PresenceLogger: Sendable {
    /// How much a line matters, from the least to the most.
    public enum Level: String, Codable, Sendable, CaseIterable, Comparable {
        /// What happens all the time.
        case debug
        /// What an operator may want to know: connected, disconnected.
        case notice
        /// What somebody should look at.
        case error

        public static func < (a: Level, b: Level) -> Bool {
            allCases.firstIndex(of: a)! < allCases.firstIndex(of: b)!
        }
    }

    private let write: @Sendable (Level, String) -> Void

    /// - Parameter write: called from any thread, and should return soon.
    public init(_ write: @escaping @Sendable (Level, String) -> Void) {
        self.write = write
    }

    /// Writes a line.
    public func log(_ level: Level, _ message: String) { write(level, message) }
}
