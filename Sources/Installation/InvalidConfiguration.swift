/// A value that the server cannot run with.
public struct InvalidConfiguration: Error, Equatable, CustomStringConvertible {
    /// The path of the offending value, as in the configuration file.
    public let key: String
    /// What is wrong with it, and what would be right.
    public let reason: String

    public init(key: String, reason: String) {
        self.key = key
        self.reason = reason
    }

    public var description: String { "\(key): \(reason)" }
}
