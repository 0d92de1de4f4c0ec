/// What a `WebSocketClient` tells, on its loop's thread, never from inside a call to the client.
public protocol WebSocketClientDelegate: AnyObject {
    /// The server accepted, and echoed this subprotocol, if any.
    func opened(_ client: WebSocketClient, subprotocol: String?)
    /// One whole text message has come; valid UTF-8. The bytes are lent for the call.
    func received(_ message: UnsafeRawBufferPointer, on client: WebSocketClient)
    /// The server gave a sign of life: a message or a part of one, a ping, a pong. Called before what it brought.
    func heard(_ client: WebSocketClient)
    /// It is over, or it never came about. Exactly once for each `connect`.
    func closed(_ client: WebSocketClient, _ closure: WebSocketClient.Closure)
}

extension WebSocketClient {
    /// Why a client's connection ended.
    public enum Closure: Hashable, Sendable {
        /// The server closed it, with a code and a reason, or without.
        case byServer(code: UInt16?, reason: String)
        /// We closed it with this code; `clean` if the server answered.
        case byClient(code: UInt16, clean: Bool)
        /// It broke, or `abort` ended it.
        case lost
        /// The server answered the upgrade with this HTTP status, and with this header Retry-After.
        case refused(status: Int, retryAfter: String?)
        /// There was no connection, or no WebSocket behind it; why, for a log.
        case failed(String)
    }
}
