import PresenceProtocol
import Redis
import Tokens
import WebSockets
import Workers

/// The HTTP API for backends and operators, on the clients' port or one of its own. See docs/openapi.yaml.
package struct HTTPAPI {
    let logic: ShardLogic
    let transfers: Transfers
    /// Sends the response; `noted` is called with the status that is sent.
    let send: (HTTPExchangeID, HTTPResponse, _ noted: (Int) -> Void) -> Void
    /// Whether the client accepts responses compressed with gzip.
    let acceptsGzip: (HTTPExchangeID) -> Bool
    /// Whether the client is still connected.
    let isAwaited: (HTTPExchangeID) -> Bool
    /// Accepts or rejects a request's body if the decision was `later`; or rejects the rest of the body.
    let settle: (HTTPExchangeID, Result<Admission, HeadRefusal>) -> Void
    /// Continues reading a body whose sink was behind.
    let resumeBody: (HTTPExchangeID) -> Void
    /// Ends a transfer whose place another one has taken. On any thread.
    let giveUp: @Sendable (HTTPExchangeID) -> Void
    /// Responds to `/metrics` with the metrics of all the process' shards.
    let respondMetrics: (HTTPExchangeID) -> Void

    /// Responds; longer text is compressed if the client accepts that. The connection is kept for the next call, unless
    /// the client or a drain ends it.
    package func respond(_ exchange: HTTPExchangeID, _ response: HTTPResponse) {
        guard Compression.isWorth(response) else { return finish(exchange, response) }
        var response = response
        if !response.headers.contains(where: { $0.name == "Vary" }) {
            response.headers.append(("Vary", "Accept-Encoding"))
        }
        guard acceptsGzip(exchange) else { return finish(exchange, response) }
        let whole = response
        do throws(WorkRefusal) {
            try logic.jobs.run(in: .compression, for: exchange.socket) {
                Compression.gzip(whole.body)
            } then: { outcome in
                guard case .success(let packed?) = outcome else { return finish(exchange, whole) }
                finish(exchange, Compression.apply(packed, to: whole))
            }
        } catch {
            // The pool takes no more work: the uncompressed answer is larger, but has no delay.
            finish(exchange, whole)
        }
    }

    private func finish(_ exchange: HTTPExchangeID, _ response: HTTPResponse) {
        var response = response
        response.isLast = logic.isDraining
        send(exchange, response) { logResponse(exchange, status: $0) }
    }

    func route(of request: HTTPRequest) -> Route {
        Route(request.method, request.path, in: logic.registry.routes)
    }

    package func handle(_ exchange: HTTPExchangeID, _ request: HTTPRequest) {
        let route = route(of: request)
        // (A call with a body was logged when it was admitted.)
        if request.head.contentLength ?? 0 == 0 { traceRequest(exchange, request, to: route) }
        guard ListenerRole(rawValue: request.tag)?.leads(to: route, from: request.peer) ?? false else {
            return refuse(exchange, 404, .notFound, "there is nothing at this path")
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
        case .unknown: refuse(exchange, 404, .notFound, "there is nothing at this path")
        case .otherMethod(let allowed, _):
            var response = HTTPResponse.error(
                405, .init(code: .badRequest, message: "this path takes \(allowed) only"))
            response.headers.append(("Allow", allowed))
            respond(exchange, response)
        case .badEscape: refuse(exchange, 400, .badRequest, "this path has a malformed escape")
        case .badID: refuse(exchange, 400, .validationFailed, "an id is 1 to 128 bytes of printable ASCII", "id")
        case .api(let entry, let ids): begin(exchange, request, entry, ids)
        }
    }

    /// Debug logs have the route without any id.
    func traceRequest(_ exchange: HTTPExchangeID, _ request: HTTPRequest, to route: Route) {
        guard let trace = logic.trace else { return }
        trace.begin(request.name, on: exchange.socket)
        var path = "-"
        if case .api(let entry, _) = route { path = entry.path }
        if Route.isCore(request.path) { path = request.path }
        logic.log("call", ["request": request.name, "method": request.method, "path": path], level: .debug)
    }

    func logResponse(_ exchange: HTTPExchangeID, status: Int) {
        guard let name = logic.trace?.name(on: exchange.socket) else { return }
        logic.log("answered", ["request": name, "status": "\(status)"], level: .debug)
    }

    private func begin(
        _ exchange: HTTPExchangeID, _ request: HTTPRequest, _ entry: HTTPRouteEntry, _ ids: [Identifier]
    ) {
        if let admission = request.grant as? Admission { return run(exchange, request, entry, ids, admission) }
        // The size of an upload must be known in advance.
        guard !entry.isUpload || request.head.contentLength != nil else {
            return refuse(exchange, 411, .badRequest, "the header Content-Length is required")
        }
        admit(exchange, request, entry, ids) { found in
            switch found {
            case .failure(let refusal): respond(exchange, refusal.response)
            case .success(let admission): run(exchange, request, entry, ids, admission)
            }
        }
    }

    private func run(
        _ exchange: HTTPExchangeID, _ request: HTTPRequest, _ entry: HTTPRouteEntry, _ ids: [Identifier],
        _ admission: Admission
    ) {
        var request = request
        (request.grant, request.sink) = (nil, nil)
        let call = HTTPCall(
            api: self, exchange: exchange, ids: ids, texts: entry.texts(in: request.path), request: request,
            caller: admission.caller, writer: admission.claims.map { Writer($0, in: logic.partitions) })
        // (The closure must not retain the sink: otherwise neither would be freed when the connection closes.)
        let (sink, claims, bearer) = (admission.sink, admission.claims, admission.bearer)
        // An upload takes long, and what it stores stays.
        let admittedAt = sink == nil ? admission.at : nil
        func proceed(_ call: HTTPCall) {
            func answer(_ refusal: HeadRefusal?) {
                if let refusal { call.respond(refusal.response) } else { handle(call, entry) }
            }
            let isFresh = admittedAt.map { logic.clock.now - $0 < Self.freshness } ?? false
            if isFresh { return answer(nil) }
            if let bearer { return look(up: bearer, entry, from: call.request.peer, answer: answer) }
            recheck(claims, from: call.request.peer, answer: answer)
        }
        guard let sink else { return proceed(call) }
        sink.finish { result in
            switch result {
            case .failure(let failure): call.respond(response(to: failure))
            case .success(let file):
                var call = call
                call.file = file
                proceed(call)
            }
        }
    }

    /// Checks a user's token again for a call whose body took long: the check of its head does not cover the time since.
    private func recheck(_ claims: Claims?, from peer: PeerAddress, answer: @escaping (HeadRefusal?) -> Void) {
        guard let claims else { return answer(nil) }
        guard claims.expiresAt > logic.clock.redisNow else {
            return answer(.init(response: Self.unauthorized("\(AuthenticationFailure.expired)")))
        }
        refuseRevoked(claims, from: peer, answer: answer)
    }
    /// In ms after the check of a head, in which a call is carried out without another check.
    private static let freshness: Milliseconds = 20

    private func handle(_ call: HTTPCall, _ entry: HTTPRouteEntry) {
        do throws(DecodingFailure) {
            guard let trace = logic.trace else { return try entry.handle(call) }
            try trace.following(call.request.name) { () throws(DecodingFailure) in try entry.handle(call) }
        } catch {
            call.refuse(error)
        }
    }

    // MARK: For calls

    package func refuse(
        _ exchange: HTTPExchangeID, _ status: Int, _ code: ErrorCode, _ message: String, _ field: String? = nil
    ) {
        respond(exchange, .error(status, .init(code: code, message: message, field: field)))
    }

    static func status(of code: ErrorCode) -> Int {
        switch code {
        case .badRequest, .unknownType: 400
        case .unauthorized: 401
        case .forbidden, .banned, .refused: 403
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
        HTTPResponse(
            status: status, headers: [("Content-Type", "application/json"), ("X-Content-Type-Options", "nosniff")],
            body: body)
    }

    package static func json(_ status: Int, _ body: String) -> HTTPResponse { json(status, Array(body.utf8)) }

    package static func error(_ status: Int, _ error: ServerMessage.ErrorMessage) -> HTTPResponse {
        var body: [UInt8] = []
        ServerMessageWriter.error(error, to: &body)
        return json(status, body)
    }
}
