/// Receives the events of a `WebSocketClient`, on its loop's thread, never from inside a call to the client.
public protocol WebSocketClientDelegate: AnyObject {
    /// The server accepted the connection, and selected this subprotocol, or none.
    func opened(_ client: WebSocketClient, subprotocol: String?)
    /// A whole text message has arrived; valid UTF-8. The bytes are valid during the call.
    func received(_ message: UnsafeRawBufferPointer, on client: WebSocketClient)
    /// The server gave a sign of life: a message or a part of one, a ping, a pong. Called before the call for that
    /// event.
    func heard(_ client: WebSocketClient)
    /// The connection has ended or failed. Called exactly once for each `connect`.
    func closed(_ client: WebSocketClient, _ closure: WebSocketClient.Closure)
}

extension WebSocketClient {
    /// The reason why a client's connection ended.
    public enum Closure: Hashable, Sendable {
        /// The server closed the connection, with a code and a reason, or without them.
        case byServer(code: UInt16?, reason: String)
        /// The client closed the connection with this code. `clean`: the server answered with a close frame.
        case byClient(code: UInt16, clean: Bool)
        /// The connection broke, or `abort` ended it.
        case lost
        /// The server refused the upgrade, with this HTTP status and this header Retry-After.
        case refused(status: Int, retryAfter: String?)
        /// There was no connection, or no WebSocket at the other end; the reason, for a log.
        case failed(String)
    }
}
