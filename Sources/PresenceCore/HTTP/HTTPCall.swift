import PresenceProtocol
import Redis
import WebSockets

/// A call that is let in: what it is about, and where its answer goes. It is answered once.
package struct HTTPCall {
    package let api: HTTPAPI
    let exchange: HTTPExchangeID
    /// Those of its path, in their order.
    package let ids: [Identifier]
    package let body: [UInt8]
    /// The user whose token it came with; `nil` for a backend, which may see and do everything.
    package let viewer: UserID?

    package var shard: ShardLogic { api.logic }

    package func respond(_ response: HTTPResponse) { api.respond(exchange, response) }

    package func refuse(_ status: Int, _ error: ServerMessage.ErrorMessage) { respond(.error(status, error)) }

    package func refuse(_ status: Int, _ code: ErrorCode, _ message: String, _ field: String? = nil) {
        api.refuse(exchange, status, code, message, field)
    }

    /// Runs one script and answers: `succeeded` makes the answer of an `OK`; all else is answered as it is everywhere.
    ///
    /// - Parameter changes: Whether the script changes anything.
    package func write(
        changes: Bool = true, run: (@escaping StoreReply) -> Void, succeeded: @escaping (RedisValue) -> HTTPResponse
    ) {
        api.write(exchange, changes: changes, run: run, succeeded: succeeded)
    }
}
