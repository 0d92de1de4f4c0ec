// The part of Apple's Network framework that PresenceKit uses, for the type checker.
import Dispatch

public struct NWInterface: Sendable {
    public var name: String
}

public struct NWPath: Sendable {
    public enum Status: Sendable { case satisfied, unsatisfied, requiresConnection }
    public var status: Status
    public var availableInterfaces: [NWInterface]
}

public final class NWPathMonitor: @unchecked Sendable {
    // Without a lock: nothing runs.
    public init() {}
    public var pathUpdateHandler: (@Sendable (NWPath) -> Void)?
    public func start(queue: DispatchQueue) {}
    public func cancel() {}
}
