/// The reason why a server cannot start, as a sentence for the person who started it.
public struct StartFailure: Error, Equatable, CustomStringConvertible {
    public let message: String

    public init(_ message: String) { self.message = message }

    /// The server was stopped while it started, or before.
    public static let stopped = StartFailure("stopped")

    public var description: String { message }
}
