import PresenceProtocol
import Redis
import Tokens
import WebSockets

/// What backends and operators ask over HTTP, on the port that clients use or one of their own. Described in docs/openapi.yaml.
struct HTTPAPI {
    let logic: ShardLogic
    let keep: (HTTPExchangeID, HTTPResponse) -> Void
    /// Answers `/metrics` with the numbers of all the process' shards.
    let respondMetrics: (HTTPExchangeID) -> Void

    /// Answers, and ends the connection.
    private func respond(_ exchange: HTTPExchangeID, _ response: HTTPResponse) {
        var response = response
        response.isLast = true
        keep(exchange, response)
    }

    func handle(_ exchange: HTTPExchangeID, _ request: HTTPRequest) {
        let route = Route(request.method, request.path)
        guard Entrance(rawValue: request.tag)?.leads(to: route) ?? false else {
            return refuse(exchange, 404, .badRequest, "there is nothing at this path")
        }
        if case .api = route, !request.isFirst {
            return refuse(exchange, 400, .badRequest, "a call must be the first request of its connection")
        }
        switch route {
        case .health: keep(exchange, .json(200, #"{"status":"ok"}"#))
        case .readiness:
            keep(
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
        case .api(let call): authorize(exchange, request, call)
        }
    }

    /// Refuses a call by its head, before anything of its body is kept, or notes for whom it speaks.
    func refusal(of request: inout HTTPRequest) -> HTTPResponse? {
        let route = Route(request.method, request.path)
        guard Entrance(rawValue: request.tag)?.leads(to: route) ?? false, case .api(let call) = route else {
            request.keepsBody = false
            return nil
        }
        switch claims(of: request, call) {
        case .failure(let refusal): return refusal.response
        case .success(let claims):
            request.grant = claims
            return nil
        }
    }

    private struct Refusal: Error { let response: HTTPResponse }

    private func claims(of request: HTTPRequest, _ call: Route.Call) -> Result<Claims, Refusal> {
        if let claims = request.grant as? Claims { return .success(claims) }
        guard let token = bearerToken(request.headers["authorization"]) else {
            return .failure(.init(response: Self.unauthorized("a token is needed: Authorization: Bearer …")))
        }
        switch logic.check(token, from: logic.failedTokens.block(of: request.peer)) {
        case .tooMany(let wait):
            return .failure(
                .init(response: tooFast(.failedTokens, ShardLogic.tooManyFailedTokens, retryAfter: wait)))
        case .refused(let failure): return .failure(.init(response: Self.unauthorized("\(failure)")))
        case .valid(let claims):
            guard claims.isBackend || call.isForUsers else {
                let refusal = ServerMessage.ErrorMessage(code: .forbidden, message: "only a backend may do this")
                return .failure(.init(response: .error(403, refusal)))
            }
            return .success(claims)
        }
    }

    private func authorize(_ exchange: HTTPExchangeID, _ request: HTTPRequest, _ call: Route.Call) {
        switch claims(of: request, call) {
        case .failure(let refusal): respond(exchange, refusal.response)
        case .success(let claims):
            guard !claims.isBackend else { return run(call, exchange, request.body, for: nil) }
            guard admits(claims.subject, exchange) else { return }
            logic.isRevoked(claims) { isRevoked in
                switch isRevoked {
                case false?: run(call, exchange, request.body, for: claims.subject)
                case true?:
                    logic.noteFailedToken(from: logic.failedTokens.block(of: request.peer))
                    respond(exchange, Self.unauthorized("\(AuthenticationFailure.revoked)"))
                case nil:
                    let message = "the store is out of reach, and whether this token was revoked is not known here"
                    respond(exchange, .error(503, .init(code: .unavailable, message: message, retryAfter: 1_000)))
                }
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

    /// `viewer` is `nil` for a backend.
    private func run(_ call: Route.Call, _ exchange: HTTPExchangeID, _ body: [UInt8], for viewer: UserID?) {
        do throws(DecodingFailure) {
            switch call {
            case .user(let id): read([id], exchange, for: viewer) { $0[0].json }
            case .users:
                let users = try RequestBody.users(body, limit: logic.configuration.limits.subscribeBatch)
                // The first token was taken for the request; what its ids cost, the next one waits for.
                let more = ClientMessage.Body.get(users: users).tokens - 1
                if let viewer { logic.userRates.take(more, by: viewer, at: logic.clock.now) }
                read(users, exchange, for: viewer) { people in
                    Array(#"{"users":["#.utf8) + people.map(\.json).joined(separator: [0x2C]) + Array("]}".utf8)
                }
            case .profile(let id):
                let changes = try ProfileChanges.decode(json: body)
                guard !changes.arguments.isEmpty else {
                    return refuse(exchange, 400, .badRequest, "the body has no member of a profile")
                }
                guard changes.hasKnownTimezone else {
                    return respond(exchange, .error(422, ProfileChanges.unknownTimezone))
                }
                write(exchange) {
                    logic.change(profileOf: id, changes, done: $0)
                } succeeded: { words in
                    guard let profile = ShardLogic.profileObject(words.array ?? []) else {
                        logic.noteDamage("profile", of: id)
                        return .error(500, ShardLogic.damaged())
                    }
                    return .json(200, Array(#"{"profile":"#.utf8) + profile + [0x7D])
                }
            case .setParticipants(let id):
                let participants = try RequestBody.participants(body)
                let most = logic.configuration.limits.participants
                guard participants.count >= 2 else {
                    return refuse(
                        exchange, 422, .validationFailed, "a conversation has at least 2 participants", "participants")
                }
                guard participants.count <= most else {
                    return refuse(
                        exchange, 422, .tooMany, "at most \(most) participants in one conversation", "participants")
                }
                write(exchange) {
                    setParticipants(participants, of: id, done: $0)
                } succeeded: { _ in
                    var json = Array(#"{"conversation":{"id":"#.utf8)
                    JSONWriter.string(id.string, to: &json)
                    json += Array(#","participants":"#.utf8)
                    JSONWriter.identifiers(participants, to: &json)
                    return .json(200, json + Array("}}".utf8))
                }
            case .removeParticipants(let id):
                write(exchange) {
                    setParticipants([], of: id, done: $0)
                } succeeded: { _ in
                    HTTPResponse(status: 204)
                }
            case .visibility(let id): readVisibility(of: id, exchange)
            case .setVisibility(let id):
                let change = try VisibilityChange.decode(json: body)
                guard !change.isEmpty else {
                    return refuse(exchange, 400, .badRequest, "the body has no member of a visibility")
                }
                setVisibility(change, of: id, exchange)
            case .changeContacts(let id): try changeList(.contacts, of: id, exchange, body)
            case .changeBlocks(let id): try changeList(.blocks, of: id, exchange, body)
            case .disconnect(let id):
                write(exchange) {
                    logic.disconnect(id, done: $0)
                } succeeded: { value in
                    .json(200, #"{"disconnected":\#(value.array?.last?.int ?? 0)}"#)
                }
            case .revokeTokens(let id):
                write(exchange) {
                    logic.revokeTokens(of: id, done: $0)
                } succeeded: { value in
                    let words = value.array ?? []
                    let (sessions, notBefore) = (words.count > 2 ? words[1].int : nil, words.last?.int ?? 0)
                    // The first whole second all of which is after the revocation: an `iat` without a fraction may
                    // stand for any moment of its second.
                    return .json(
                        200,
                        #"{"disconnected":\#(sessions ?? 0),"notBefore":\#(notBefore),"#
                            + #""notBeforeSeconds":\#((notBefore + 999) / 1_000)}"#)
                }
            }
        } catch {
            respond(exchange, .error(Self.status(of: error.code), error.errorMessage))
        }
    }

    // MARK: Calls

    private func read(
        _ users: [UserID], _ exchange: HTTPExchangeID, for viewer: UserID?,
        _ json: @escaping ([ShardLogic.ReadPerson]) -> [UInt8]
    ) {
        logic.read(users, for: viewer) { people in
            guard let people else {
                let message = "the store is out of reach, and not all of these are held here"
                return respond(exchange, .error(503, .init(code: .unavailable, message: message, retryAfter: 1_000)))
            }
            respond(exchange, .json(200, json(people)))
        }
    }

    private func setParticipants(_ participants: [UserID], of id: ConversationID, done: @escaping StoreReply) {
        let keys = logic.partitions.keys(of: id)
        logic.store.run(
            .participants, keys: [keys.shards, keys.floor, keys.conversation(id), keys.typing(id)],
            arguments: [keys.events, logic.link.incarnation, id.string] + participants.map(\.string),
            lane: .commands, reply: done)
    }

    func write(
        _ exchange: HTTPExchangeID, changes: Bool = true, run: (@escaping StoreReply) -> Void,
        succeeded: @escaping (RedisValue) -> HTTPResponse
    ) {
        guard logic.link.isLive else {
            return respond(exchange, .error(503, WriteRefusal(.disconnected(sent: false)).message(id: nil)))
        }
        guard !logic.isStoreFull() else {
            return respond(exchange, .error(503, WriteRefusal(.overloaded).message(id: nil)))
        }
        run { result in
            logic.link.noticeFencing(in: result)
            if let refusal = WriteRefusal(result, changes: changes) {
                if refusal.code == .internal { logic.logInternalError(result) }
                let message = refusal.message(id: nil)
                respond(exchange, .error(Self.status(of: message.code), message))
            } else if case .success(let value) = result {
                respond(exchange, succeeded(value))
            }
        }
    }

    private func refuse(
        _ exchange: HTTPExchangeID, _ status: Int, _ code: ErrorCode, _ message: String, _ field: String? = nil
    ) {
        respond(exchange, .error(status, .init(code: code, message: message, field: field)))
    }

    private static func status(of code: ErrorCode) -> Int {
        switch code {
        case .badRequest, .unknownType: 400
        case .unauthorized: 401
        case .forbidden: 403
        case .conflict: 409
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

extension ShardLogic.ReadPerson {
    var json: [UInt8] {
        var json = Array(#"{"user":"#.utf8)
        JSONWriter.string(user.string, to: &json)
        return json + Array(#","presence":"#.utf8) + presence + Array(#","profile":"#.utf8) + profile + [0x7D]
    }
}

extension HTTPResponse {
    static func json(_ status: Int, _ body: [UInt8]) -> HTTPResponse {
        HTTPResponse(status: status, headers: [("Content-Type", "application/json")], body: body)
    }

    static func json(_ status: Int, _ body: String) -> HTTPResponse { json(status, Array(body.utf8)) }

    static func error(_ status: Int, _ error: ServerMessage.ErrorMessage) -> HTTPResponse {
        var body: [UInt8] = []
        ServerMessageWriter.error(error, to: &body)
        return json(status, body)
    }
}
