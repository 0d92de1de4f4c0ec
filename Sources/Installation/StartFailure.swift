/// Why a server cannot start, in words for the person who started it.
public struct StartFailure: Error, Equatable, CustomStringConvertible {
    public let message: String

    public init(_ message: String) { self.message = message }

    /// It was told to stop while it started, or before.
    public static let stopped = StartFailure("stopped")

    public var description: String { message }
}
