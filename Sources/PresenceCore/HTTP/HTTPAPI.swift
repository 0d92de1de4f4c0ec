import PresenceProtocol
import Redis
import Tokens
import WebSockets

/// What backends and operators ask over HTTP, on the port that clients use or one of their own. Described in docs/openapi.yaml.
package struct HTTPAPI {
    let logic: ShardLogic
    let send: (HTTPExchangeID, HTTPResponse) -> Void
    /// Lets the body of a request come, or refuses it, after `later` was said of it.
    let settle: (HTTPExchangeID, Result<Claims, Refusal>) -> Void
    /// Answers `/metrics` with the numbers of all the process' shards.
    let respondMetrics: (HTTPExchangeID) -> Void

    /// Answers. The connection is kept for the next call, unless its client or a drain says otherwise.
    package func respond(_ exchange: HTTPExchangeID, _ response: HTTPResponse) {
        var response = response
        response.isLast = logic.isDraining
        send(exchange, response)
    }

    private func route(of request: HTTPRequest) -> Route {
        Route(request.method, request.path, in: logic.registry.routes)
    }

    package func handle(_ exchange: HTTPExchangeID, _ request: HTTPRequest) {
        let route = route(of: request)
        guard ListenerRole(rawValue: request.tag)?.leads(to: route) ?? false else {
            return refuse(exchange, 404, .badRequest, "there is nothing at this path")
        }
        switch route {
        case .health: respond(exchange, .json(200, #"{"status":"ok"}"#))
        case .readiness:
            respond(
                exchange,
                logic.link.isLive
                    ? .json(200, #"{"status":"ready"}"#)
                    : .error(503, .init(code: .unavailable, message: "the store is out of reach", retryAfter: 1_000)))
        case .metrics: respondMetrics(exchange)
        case .webSocket:
            var response = HTTPResponse.error(
                426, .init(code: .badRequest, message: "this path speaks WebSocket only"))
            response.headers.append(("Upgrade", "websocket"))
            respond(exchange, response)
        case .unknown: refuse(exchange, 404, .badRequest, "there is nothing at this path")
        case .otherMethod(let allowed, _):
            var response = HTTPResponse.error(
                405, .init(code: .badRequest, message: "this path takes \(allowed) only"))
            response.headers.append(("Allow", allowed))
            respond(exchange, response)
        case .badEscape: refuse(exchange, 400, .badRequest, "this path has a malformed escape")
        case .badID: refuse(exchange, 400, .validationFailed, "an id is 1 to 128 bytes of printable ASCII", "id")
        case .api(let call, let ids): authorize(exchange, request, call, ids)
        }
    }

    /// Refuses a call by its head, before anything of its body is kept, or notes its claims.
    package func admission(of request: inout HTTPRequest, _ exchange: HTTPExchangeID) -> BodyAdmission {
        let route = route(of: request)
        guard ListenerRole(rawValue: request.tag)?.leads(to: route) ?? false, case .api(let call, _) = route else {
            request.keepsBody = false
            return .granted
        }
        if let most = call.mostBytes, let length = request.headers["content-length"].flatMap({ Int($0) }), length > most
        {
            return .refused(
                .error(413, .init(code: .tooLarge, message: "the body of this call has at most \(most) bytes")))
        }
        // Whose it is does not decide whether the body may come.
        if call.audience == .anyone { return .granted }
        var now: Result<Claims, Refusal>?
        var isWithin = true
        claims(of: request, call, exchange) { claims in
            if isWithin { now = claims } else { settle(exchange, claims) }
        }
        isWithin = false
        switch now {
        case nil: return .later
        case .failure(let refusal): return .refused(refusal.response)
        case .success(let claims):
            request.grant = claims
            return .granted
        }
    }

    struct Refusal: Error { let response: HTTPResponse }

    /// Whose call it is; within this call, or later if the token's signature takes long.
    private func claims(
        of request: HTTPRequest, _ call: HTTPRouteEntry, _ exchange: HTTPExchangeID,
        found: @escaping (Result<Claims, Refusal>) -> Void
    ) {
        if let claims = request.grant as? Claims { return found(.success(claims)) }
        guard let token = bearerToken(request.headers["authorization"]) else {
            return found(.failure(.init(response: Self.unauthorized("a token is needed: Authorization: Bearer …"))))
        }
        let address = logic.failedTokens.block(of: request.peer)
        logic.check(token, from: address, of: exchange.socket) { verdict in found(claims(by: verdict, call)) }
    }

    private func claims(by verdict: ShardLogic.TokenVerdict, _ call: HTTPRouteEntry) -> Result<Claims, Refusal> {
        switch verdict {
        case .tooMany(let wait):
            return .failure(
                .init(response: tooFast(.failedTokens, ShardLogic.tooManyFailedTokens, retryAfter: wait)))
        case .overloaded(let refusal): return .failure(.init(response: .overloaded(refusal)))
        case .refused(let failure): return .failure(.init(response: Self.unauthorized("\(failure)")))
        case .valid(let claims):
            guard claims.isBackend || call.audience == .users || call.audience == .anyone else {
                let refusal = ServerMessage.ErrorMessage(code: .forbidden, message: "only a backend may do this")
                return .failure(.init(response: .error(403, refusal)))
            }
            return .success(claims)
        }
    }

    private func authorize(
        _ exchange: HTTPExchangeID, _ request: HTTPRequest, _ route: HTTPRouteEntry, _ ids: [Identifier]
    ) {
        func run(for claims: Claims?) {
            let call = HTTPCall(
                api: self, exchange: exchange, ids: ids, body: request.body,
                viewer: claims.flatMap { $0.isBackend ? nil : $0.subject }, grant: claims?.grant,
                isBackend: claims?.isBackend ?? false, address: logic.failedTokens.block(of: request.peer))
            do throws(DecodingFailure) {
                try route.handle(call)
            } catch {
                respond(exchange, .error(Self.status(of: error.code), error.errorMessage))
            }
        }
        if route.audience == .anyone { return identify(exchange, request, route, run: run) }
        claims(of: request, route, exchange) { found in
            switch found {
            case .failure(let refusal): respond(exchange, refusal.response)
            case .success(let claims) where claims.isBackend: run(for: claims)
            case .success(let claims): authorize(exchange, request, claims) { run(for: claims) }
            }
        }
    }

    /// The call of anybody: a token that is good says whose it is.
    private func identify(
        _ exchange: HTTPExchangeID, _ request: HTTPRequest, _ route: HTTPRouteEntry, run: @escaping (Claims?) -> Void
    ) {
        guard bearerToken(request.headers["authorization"]) != nil else { return run(nil) }
        claims(of: request, route, exchange) { found in
            guard case .success(let claims) = found, !claims.isBackend else { return run(nil) }
            logic.isRevoked(claims) { run($0 == false ? claims : nil) }
        }
    }

    /// A user's call, if its token was not revoked and the user does not ask too fast.
    private func authorize(
        _ exchange: HTTPExchangeID, _ request: HTTPRequest, _ claims: Claims, run: @escaping () -> Void
    ) {
        guard admits(claims.subject, exchange) else { return }
        logic.isRevoked(claims) { isRevoked in
            switch isRevoked {
            case false?: run()
            case true?:
                logic.noteFailedToken(from: logic.failedTokens.block(of: request.peer))
                respond(exchange, Self.unauthorized("\(AuthenticationFailure.revoked)"))
            case nil:
                let message = "the store is out of reach, and whether this token was revoked is not known here"
                respond(exchange, .error(503, .init(code: .unavailable, message: message, retryAfter: 1_000)))
            }
        }
    }

    private static func unauthorized(_ message: String) -> HTTPResponse {
        var response = HTTPResponse.error(401, .init(code: .unauthorized, message: message))
        response.headers.append(("WWW-Authenticate", "Bearer"))
        return response
    }

    /// Users' requests here and on their sockets come from one bucket; backends speak for many.
    private func admits(_ user: UserID, _ exchange: HTTPExchangeID) -> Bool {
        guard let wait = logic.userRates.wait(for: 1, by: user, at: logic.clock.now) else {
            logic.userRates.take(1, by: user, at: logic.clock.now)
            return true
        }
        respond(exchange, tooFast(.userRequests, "this user asks too fast: nothing was done", retryAfter: wait))
        return false
    }

    private func tooFast(_ limit: Limit, _ message: String, retryAfter wait: Milliseconds) -> HTTPResponse {
        logic.metrics.met(limit)
        var response = HTTPResponse.error(429, .init(code: .rateLimited, message: message, retryAfter: wait))
        response.headers.append(("Retry-After", String((wait + 999) / 1_000)))
        return response
    }

    // MARK: What calls use

    package func write(
        _ exchange: HTTPExchangeID, changes: Bool = true, run: (@escaping StoreReply) -> Void,
        succeeded: @escaping (RedisValue) -> HTTPResponse
    ) {
        ask(exchange, changes: changes, run: run) { value in
            if let refusal = WriteRefusal(.success(value), changes: changes) { return refuse(exchange, refusal, value) }
            respond(exchange, succeeded(value))
        }
    }

    /// The same where a script says more than `OK` and what is refused everywhere alike: `answered` gets all that it
    /// replied but `FENCED`.
    package func ask(
        _ exchange: HTTPExchangeID, changes: Bool = true, run: (@escaping StoreReply) -> Void,
        answered: @escaping (RedisValue) -> Void
    ) {
        guard logic.link.isLive else {
            return respond(exchange, .error(503, WriteRefusal(.disconnected(sent: false)).message(id: nil)))
        }
        guard !logic.isStoreFull() else {
            return respond(exchange, .error(503, WriteRefusal(.overloaded).message(id: nil)))
        }
        run { result in
            logic.link.noticeFencing(in: result)
            switch result {
            case .success(let value) where value.array?.first?.string != "FENCED": answered(value)
            default: if let refusal = WriteRefusal(result, changes: changes) { refuse(exchange, refusal, result) }
            }
        }
    }

    private func refuse(_ exchange: HTTPExchangeID, _ refusal: WriteRefusal, _ value: RedisValue) {
        refuse(exchange, refusal, .success(value))
    }

    private func refuse(
        _ exchange: HTTPExchangeID, _ refusal: WriteRefusal, _ result: Result<RedisValue, RedisFailure>
    ) {
        if refusal.code == .internal { logic.logInternalError(result) }
        let message = refusal.message(id: nil)
        respond(exchange, .error(Self.status(of: message.code), message))
    }

    package func refuse(
        _ exchange: HTTPExchangeID, _ status: Int, _ code: ErrorCode, _ message: String, _ field: String? = nil
    ) {
        respond(exchange, .error(status, .init(code: code, message: message, field: field)))
    }

    private static func status(of code: ErrorCode) -> Int {
        switch code {
        case .badRequest, .unknownType: 400
        case .unauthorized: 401
        case .forbidden: 403
        case .notFound: 404
        case .conflict: 409
        case .tooLarge: 413
        case .validationFailed, .tooMany: 422
        case .rateLimited: 429
        case .unavailable: 503
        default: 500
        }
    }
}

/// The token of an `Authorization: Bearer …` header.
func bearerToken(_ header: String?) -> String? {
    guard let header, header.utf8.count > 7, header.prefix(7).lowercased() == "bearer " else { return nil }
    let token = header.dropFirst(7).drop { $0 == " " }
    return token.isEmpty ? nil : String(token)
}

extension HTTPResponse {
    package static func json(_ status: Int, _ body: [UInt8]) -> HTTPResponse {
        HTTPResponse(status: status, headers: [("Content-Type", "application/json")], body: body)
    }

    package static func json(_ status: Int, _ body: String) -> HTTPResponse { json(status, Array(body.utf8)) }

    package static func error(_ status: Int, _ error: ServerMessage.ErrorMessage) -> HTTPResponse {
        var body: [UInt8] = []
        ServerMessageWriter.error(error, to: &body)
        return json(status, body)
    }
}
