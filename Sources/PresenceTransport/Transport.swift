import Foundation

/// One WebSocket connection, whatever it is made of. It begins when a ``Dialler`` makes it.
///
/// Its verbs may be called from any thread, in their order; after the end they do nothing.
package protocol Transport: Sendable {
    /// Sends one text message: valid UTF-8.
    func send(_ text: [UInt8])
    /// Makes the other side say something, if its signs of life would not be noticed otherwise.
    func ping()
    /// Sends a close frame with 1000 after everything sent before, waits a little for the answer, and ends.
    func close()
    /// Ends the connection, or the attempt to get one, without a close frame.
    func abort()
}

/// Makes WebSocket connections.
package protocol Dialler: Sendable {
    /// Connects.
    ///
    /// - Parameters:
    ///   - url: `ws` or `wss`.
    ///   - subprotocol: the one offered.
    ///   - report: told what happens, in order, from any thread, one event at a time; the last one is
    ///     ``TransportEvent/ended(_:)``, and it comes exactly once.
    func dial(
        _ url: URL, subprotocol: String, report: @escaping @Sendable (TransportEvent) -> Void
    ) -> any Transport
}

/// What a transport tells.
package enum TransportEvent: Hashable, Sendable {
    /// The server accepted.
    case opened
    /// One whole text message.
    case received([UInt8])
    /// The server gave a sign of life without content.
    case alive
    case ended(TransportEnd)
}

/// How a connection, or the attempt to make one, ended.
package enum TransportEnd: Hashable, Sendable {
    /// The server closed it, with this code (1005: without one) and reason.
    case closed(code: UInt16, reason: [UInt8])
    /// The server refused the upgrade with this HTTP status.
    case refused(status: Int)
    /// The server sent something that is not of this protocol, such as a binary message.
    case violated(String)
    /// It broke, was aborted, or never came about; why, for a log.
    case lost(String)
}
