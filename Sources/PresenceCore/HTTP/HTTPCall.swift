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
    /// The grant of that token, if the server itself issued it to a device.
    package let grant: Identifier?
    /// Whether it came with a backend's token.
    package let isBackend: Bool
    /// As what the caller's address is counted; `.none`: not at all.
    package let address: AddressBlock

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

    /// Runs one script whose replies mean more than `OK`: `answered` gets any but `FENCED`, and answers the call or goes on.
    package func ask(
        changes: Bool = true, run: (@escaping StoreReply) -> Void, answered: @escaping (RedisValue) -> Void
    ) {
        api.ask(exchange, changes: changes, run: run, answered: answered)
    }

    /// Refuses as too fast, with the time after which to come again.
    package func refuse(retryAfter wait: Milliseconds, _ message: String) {
        var response = HTTPResponse.error(429, .init(code: .rateLimited, message: message, retryAfter: wait))
        response.headers.append(("Retry-After", String((wait + 999) / 1_000)))
        respond(response)
    }
}
