import PresenceProtocol
import Redis
import WebSockets

/// An admitted call: its parameters, and its response, which is sent once.
package struct HTTPCall {
    package let api: HTTPAPI
    let exchange: HTTPExchangeID
    /// The ids in its path, in order.
    package let ids: [Identifier]
    /// The texts in its path (`{text}`), decoded and otherwise unchanged.
    package let texts: [String]
    /// The request as received: its head, its query, its origin.
    package let request: HTTPRequest
    package let caller: HTTPCaller
    /// The author of the call's changes; `nil` for a backend, and for a call without a user's token.
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

    /// The grant of its token, if the server itself issued the token to a device.
    package var grant: Identifier? { writer?.grant }

    /// Empty for an upload.
    package var body: [UInt8] { request.body }

    /// The user of the token; `nil` for a backend, which may see and do everything. On a route for everyone the caller
    /// may be neither a user nor a backend, so such a route must use `caller`.
    package var viewer: UserID? {
        switch caller {
        case .user(let user): return user
        case .backend: return nil
        case .anyone: preconditionFailure("a route for everyone must not use viewer: \(request.path)")
        }
    }

    /// The block of addresses under which limits count the caller; `.none` if limits do not count the caller.
    package var address: AddressBlock { shard.failedTokens.block(of: request.peer) }

    package var shard: ShardLogic { api.logic }

    package func respond(_ response: HTTPResponse) { api.respond(exchange, response) }

    package func refuse(_ status: Int, _ error: ServerMessage.ErrorMessage) { respond(.error(status, error)) }

    /// Rejects an invalid body.
    package func refuse(_ failure: DecodingFailure) {
        respond(.error(HTTPAPI.status(of: failure.code), failure.errorMessage))
    }

    package func refuse(_ status: Int, _ code: ErrorCode, _ message: String, _ field: String? = nil) {
        api.refuse(exchange, status, code, message, field)
    }

    /// Rejects the call because of a limit of the caller's address. This is counted and logged, since many people may
    /// share the address.
    package func refuse(_ limit: Limit, retryAfter wait: Milliseconds, _ message: String) {
        respond(met(limit, retryAfter: wait, message).response)
    }

    /// Counts and logs that a limit of the caller's address was met; returns the error for the caller.
    package func met(_ limit: Limit, retryAfter wait: Milliseconds, _ message: String) -> Refusal {
        shard.metrics.met(limit)
        shard.logSparsely("limit of an address met", ["limit": limit.rawValue], level: .warning)
        return Refusal(.rateLimited, message, retryAfter: wait)
    }

    /// Rejects the call as too fast, with the time after which to repeat it.
    package func refuse(retryAfter wait: Milliseconds, _ message: String) {
        respond(Refusal(.rateLimited, message, retryAfter: wait).response)
    }
}

extension HTTPCall {
    /// Carries out a call as a task, and responds to it.
    func perform(_ answer: @escaping (HTTPCall) async throws -> HTTPResponse) {
        shard.tasks.run { [self] in
            do {
                respond(try await answer(self))
            } catch {
                let refusal = Refusal(thrown: error)
                if !refusal.isUnheard { respond(refusal.response) }
            }
        }
    }
}
