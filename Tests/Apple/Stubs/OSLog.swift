// The part of Apple's OSLog that PresenceKit uses, for the type checker.
public enum OSLogPrivacy: Sendable { case `public`, `private` }

public struct OSLogMessage: ExpressibleByStringInterpolation, Sendable {
    public struct Interpolation: StringInterpolationProtocol, Sendable {
        public init(literalCapacity: Int, interpolationCount: Int) {}
        public mutating func appendLiteral(_ literal: String) {}
        public mutating func appendInterpolation(_ value: @autoclosure () -> String, privacy: OSLogPrivacy = .private) {
        }
    }
    public init(stringLiteral value: String) {}
    public init(stringInterpolation: Interpolation) {}
}

public struct Logger: Sendable {
    public init(subsystem: String, category: String) {}
    public func debug(_ message: OSLogMessage) {}
    public func notice(_ message: OSLogMessage) {}
    public func error(_ message: OSLogMessage) {}
}
