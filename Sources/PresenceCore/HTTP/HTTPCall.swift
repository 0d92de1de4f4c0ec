import PresenceProtocol
import Redis
import WebSockets

/// A call that is let in: what it is about, and where its answer goes. It is answered once.
package struct HTTPCall {
    package let api: HTTPAPI
    let exchange: HTTPExchangeID
    /// Those of its path, in their order.
    package let ids: [Identifier]
    /// What its path has where any text may stand (`{text}`), decoded and otherwise as it came.
    package let texts: [String]
    /// The request as it came: its head, its query, where it came from.
    package let request: HTTPRequest
    package let caller: HTTPCaller
    /// By what right its user changes something; `nil` for a backend, and where there was no user's token.
    package let writer: Writer?
    /// The body of an upload.
    package internal(set) var file: UploadedFile?

    init(
        api: HTTPAPI, exchange: HTTPExchangeID, ids: [Identifier], texts: [String] = [], request: HTTPRequest,
        caller: HTTPCaller, writer: Writer? = nil
    ) {
        self.api = api
        self.exchange = exchange
        self.ids = ids
        self.texts = texts
        self.request = request
        self.caller = caller
        self.writer = writer
    }

    /// The grant of its token, if the server itself issued that to a device.
    package var grant: Identifier? { writer?.grant }

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

    /// As what the caller's address is counted; `.none`: not at all.
    package var address: AddressBlock { shard.failedTokens.block(of: request.peer) }

    package var shard: ShardLogic { api.logic }

    package func respond(_ response: HTTPResponse) { api.respond(exchange, response) }

    package func refuse(_ status: Int, _ error: ServerMessage.ErrorMessage) { respond(.error(status, error)) }

    /// What its body lacks.
    package func refuse(_ failure: DecodingFailure) {
        respond(.error(HTTPAPI.status(of: failure.code), failure.errorMessage))
    }

    package func refuse(_ status: Int, _ code: ErrorCode, _ message: String, _ field: String? = nil) {
        api.refuse(exchange, status, code, message, field)
    }

    /// Runs one script and answers: `succeeded` makes the answer of an `OK`; all else is answered as it is everywhere.
    ///
    /// - Parameter changes: Whether the script changes anything.
    package func write(
        changes: Bool = true, run: (@escaping StoreReply) -> Void, succeeded: @escaping (RedisValue) -> HTTPResponse
    ) {
        ask(changes: changes, run: run, known: ["OK"]) { respond(succeeded($0)) }
    }

    /// Runs one script whose replies mean more than `OK`: `answered` gets any but those by which all scripts refuse, and
    /// answers the call or goes on.
    ///
    /// - Parameters:
    ///   - words: What the script may reply; `[]`: anything.
    ///   - refused: Called when the call was refused instead.
    package func ask(
        changes: Bool = true, run: (@escaping StoreReply) -> Void, known words: [String] = [],
        refused: @escaping () -> Void = {}, answered: @escaping (RedisValue) -> Void
    ) {
        func refuse(_ refusal: Refusal) {
            respond(refusal.response)
            refused()
        }
        if let refusal = shard.refusalOfWrites() { return refuse(refusal) }
        run { result in
            do throws(Refusal) {
                try shard.check(result, changes: changes, known: words)
                answered((try? result.get()) ?? .null)
            } catch {
                refuse(error)
            }
        }
    }

    /// Refuses for a limit of the caller's address, which is counted and logged: many people may have that address.
    package func refuse(_ limit: Limit, retryAfter wait: Milliseconds, _ message: String) {
        respond(met(limit, retryAfter: wait, message).response)
    }

    /// Counts and logs that a limit of the caller's address was met; returns what the caller is told.
    package func met(_ limit: Limit, retryAfter wait: Milliseconds, _ message: String) -> Refusal {
        shard.metrics.met(limit)
        shard.logSparsely("limit of an address met", ["limit": limit.rawValue], level: .warning)
        return Refusal(.rateLimited, message, retryAfter: wait)
    }

    /// Refuses as too fast, with the time after which to come again.
    package func refuse(retryAfter wait: Milliseconds, _ message: String) {
        respond(Refusal(.rateLimited, message, retryAfter: wait).response)
    }
}
