/// One WebSocket connection of a server, for as long as it lasts.
///
/// `index` is dense (it counts from 0 and is reused), so that arrays can be indexed by it. `generation` distinguishes a
/// connection from earlier ones with the same index, so that a late call for an ended connection does nothing.
public struct SocketID: Hashable, Sendable, CustomStringConvertible {
    public let index: UInt32
    public let generation: UInt32

    public init(index: UInt32, generation: UInt32) {
        self.index = index
        self.generation = generation
    }

    public var description: String { "\(index).\(generation)" }
}

/// One HTTP request that waits for its response.
public struct HTTPExchangeID: Hashable, Sendable {
    /// The connection of the request.
    public let socket: SocketID
    /// Counts the requests of that connection.
    let number: UInt32
}
