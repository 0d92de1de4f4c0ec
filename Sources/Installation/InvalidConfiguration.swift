/// A value that the server cannot run with.
public struct InvalidConfiguration: Error, Equatable, CustomStringConvertible {
    /// The path of the invalid value, as in the configuration file.
    public let key: String
    /// The fault, and the valid values.
    public let reason: String

    public init(key: String, reason: String) {
        self.key = key
        self.reason = reason
    }

    public var description: String { "\(key): \(reason)" }
}
