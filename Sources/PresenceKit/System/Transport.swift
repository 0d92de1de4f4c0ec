import Foundation

/// A WebSocket connection, independent of its implementation. It begins when a ``Dialler`` makes it.
///
/// Methods may be called from any thread and take effect in order. After the end they do nothing.
package protocol Transport: Sendable {
    /// Sends a text message, which must be valid UTF-8.
    func send(_ text: [UInt8])
    /// Sends a ping, if the transport would not otherwise notice the server's signs of life.
    func ping()
    /// Sends a close frame with 1000 after all messages sent before, waits a little for the reply, and ends.
    func close()
    /// Ends the connection or the attempt without a close frame.
    func abort()
}

/// Makes WebSocket connections.
package protocol Dialler: Sendable {
    /// Connects.
    ///
    /// - Parameters:
    ///   - url: `ws` or `wss`.
    ///   - subprotocol: the offered subprotocol.
    ///   - report: called with events in order, one at a time, from any thread. The last event is
    ///     ``TransportEvent/ended(_:)``, exactly once.
    func dial(
        _ url: URL, subprotocol: String, report: @escaping @Sendable (TransportEvent) -> Void
    ) -> any Transport
}

/// An event of a transport.
package enum TransportEvent: Hashable, Sendable {
    /// The connection is open.
    case opened
    /// A complete text message.
    case received([UInt8])
    /// A sign of life without content.
    case alive
    case ended(TransportEnd)
}

/// The reason for which a connection or an attempt ended.
package enum TransportEnd: Hashable, Sendable {
    /// The server closed the connection with this code (1005: without one) and reason.
    case closed(code: UInt16, reason: [UInt8])
    /// The server rejected the upgrade with this HTTP status.
    case refused(status: Int)
    /// The server violated the protocol, for example with a binary message.
    case violated(String)
    /// The connection broke, was aborted, or could not be made; the reason for a log.
    case lost(String)
}
