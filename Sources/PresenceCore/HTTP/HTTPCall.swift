import PresenceProtocol
import Redis
import WebSockets

/// A call that is let in: what it is about, and where its answer goes. It is answered once.
package struct HTTPCall {
    package let api: HTTPAPI
    let exchange: HTTPExchangeID
    /// Those of its path, in their order.
    package let ids: [Identifier]
    /// The request as it came: its head, its query, where it came from.
    package let request: HTTPRequest
    package let caller: HTTPCaller
    /// The body of an upload.
    package internal(set) var file: UploadedFile?

    init(api: HTTPAPI, exchange: HTTPExchangeID, ids: [Identifier], request: HTTPRequest, caller: HTTPCaller) {
        self.api = api
        self.exchange = exchange
        self.ids = ids
        self.request = request
        self.caller = caller
    }

    /// Empty for an upload.
    package var body: [UInt8] { request.body }

    /// The user whose token it came with; `nil` for a backend, which may see and do everything. A route for everyone has
    /// neither: it asks for `caller`.
    package var viewer: UserID? {
        switch caller {
        case .user(let user): return user
        case .backend: return nil
        case .anyone: preconditionFailure("a route for everyone takes its callers for backends: \(request.path)")
        }
    }

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
