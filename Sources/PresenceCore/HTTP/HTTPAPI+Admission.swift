import PresenceProtocol
import Tokens
import WebSockets
import Workers

/// Admission of calls by their head: length, token, rate and revocation are checked before any byte of a body is read.
extension HTTPAPI {
    /// The result of checks before a call's body.
    struct Admission: Sendable {
        let caller: HTTPCaller
        /// For a user's token, which may be revoked or expire while the body is received.
        var claims: Claims?
        /// For a token that a feature looked up; it may end meanwhile, too.
        var bearer: String?
        /// When the head was admitted, on the monotonic clock.
        var at: Milliseconds = 0
        /// The destination of the body, if that is a file.
        var sink: FileSink?
    }

    /// The rejection of a call by its head: a response with further headers.
    struct HeadRefusal: Error { let response: HTTPResponse }

    /// Rejects a call by its head, before any part of its body is kept, or notes the result of the checks.
    package func admission(of request: inout HTTPRequest, _ exchange: HTTPExchangeID) -> BodyAdmission {
        let route = route(of: request)
        traceRequest(exchange, request, to: route)
        guard ListenerRole(rawValue: request.tag)?.leads(to: route, from: request.peer) ?? false,
            case .api(let entry, let ids) = route
        else {
            request.keepsBody = false
            return .granted
        }
        // A body is discarded on arrival.
        if !entry.hasBody { request.keepsBody = false }
        guard request.head.contentLength ?? 0 <= entry.limits.bodyBytes else {
            let response = tooLarge(entry.limits)
            logResponse(exchange, status: response.status)
            return .refused(response)
        }
        if request.head.isChunked {
            // The required space must be known in advance.
            guard !entry.isUpload else {
                let response = HTTPResponse.error(
                    411, .init(code: .badRequest, message: "the header Content-Length is required"))
                logResponse(exchange, status: response.status)
                return .refused(response)
            }
            request.mostBodyBytes = entry.limits.bodyBytes
        }
        var now: Result<Admission, HeadRefusal>?
        var isWithin = true
        admit(exchange, request, entry, ids) { found in
            if case .failure(let refusal) = found { logResponse(exchange, status: refusal.response.status) }
            if isWithin { now = found } else { settle(exchange, found) }
        }
        isWithin = false
        switch now {
        case nil: return .later
        case .failure(let refusal): return .refused(refusal.response)
        case .success(let admission):
            request.grant = admission
            request.sink = admission.sink
            return .granted
        }
    }

    private func tooLarge(_ limits: RouteLimits) -> HTTPResponse {
        let message = "the body of this call has at most \(limits.bodyBytes) bytes"
        return .error(413, .init(code: .tooLarge, message: message, reason: limits.tooLarge))
    }

    /// Checks a call, during this function or later, and creates the file for its body.
    func admit(
        _ exchange: HTTPExchangeID, _ request: HTTPRequest, _ entry: HTTPRouteEntry, _ ids: [Identifier],
        found: @escaping (Result<Admission, HeadRefusal>) -> Void
    ) {
        judge(exchange, request, entry) { judged in
            guard entry.isUpload, case .success(let admission) = judged else { return found(judged) }
            guard let judge = entry.judge else { return openSink(exchange, request, admission, found: found) }
            logic.tasks.run {
                do throws(Refusal) {
                    try await judge(UploadHead(ids: ids, request: request, caller: admission.caller))
                    openSink(exchange, request, admission, found: found)
                } catch {
                    found(.failure(.init(response: error.response)))
                }
            }
        }
    }

    private func judge(
        _ exchange: HTTPExchangeID, _ request: HTTPRequest, _ entry: HTTPRouteEntry,
        found: @escaping (Result<Admission, HeadRefusal>) -> Void
    ) {
        guard Route.needsToken(entry.audience) else { return judgeAnyone(exchange, request, entry, found: found) }
        guard let token = bearerToken(request.headers["authorization"]) else {
            return found(.failure(.init(response: Self.unauthorized("a token is needed: Authorization: Bearer …"))))
        }
        if logic.registry.bearerKind(of: token) != nil { return judge(token, request, entry, found: found) }
        let address = logic.failedTokens.block(of: request.peer)
        logic.check(token, from: address, of: exchange.socket) { verdict in
            switch claims(by: verdict, entry) {
            case .failure(let refusal): found(.failure(refusal))
            case .success(let claims) where claims.isBackend: found(.success(.init(caller: .backend)))
            case .success(let claims):
                if let refusal = admits(claims.subject, entry) { return found(.failure(refusal)) }
                refuseRevoked(claims, from: request.peer) { refusal in
                    found(
                        refusal.map { .failure($0) }
                            ?? .success(.init(caller: .user(claims.subject), claims: claims, at: logic.clock.now)))
                }
            }
        }
    }

    /// Checks a caller who needs no token. On some routes a user's valid token identifies the caller. While its
    /// validity is unknown the call is rejected, since otherwise the user would get a stranger's response.
    private func judgeAnyone(
        _ exchange: HTTPExchangeID, _ request: HTTPRequest, _ entry: HTTPRouteEntry,
        found: @escaping (Result<Admission, HeadRefusal>) -> Void
    ) {
        if let refusal = admitsAnyone(request, entry) { return found(.failure(refusal)) }
        guard entry.audience == .usersOrAnyone, let token = bearerToken(request.headers["authorization"]),
            logic.registry.bearerKind(of: token) == nil
        else {
            return found(.success(.init(caller: .anyone)))
        }
        logic.check(token, from: logic.failedTokens.block(of: request.peer), of: exchange.socket) { verdict in
            switch verdict {
            case .tooMany(let wait): found(.failure(tooManyFailedTokens(retryAfter: wait)))
            case .overloaded(let refusal): found(.failure(.init(response: .overloaded(refusal))))
            case .valid(let claims) where !claims.isBackend:
                logic.standing(of: claims) { standing in
                    switch standing {
                    case .valid?:
                        found(.success(.init(caller: .user(claims.subject), claims: claims, at: logic.clock.now)))
                    case .revoked?, .banned?: found(.success(.init(caller: .anyone)))
                    case nil: found(.failure(Self.revocationUnknown))
                    }
                }
            case .valid, .refused: found(.success(.init(caller: .anyone)))
            }
        }
    }

    func tooManyFailedTokens(retryAfter wait: Milliseconds) -> HeadRefusal {
        .init(response: tooFast(.failedTokens, ShardLogic.tooManyFailedTokens, retryAfter: wait))
    }

    static var revocationUnknown: HeadRefusal {
        let message = "the store is out of reach: whether this token was revoked is unknown"
        return .init(response: .error(503, .init(code: .unavailable, message: message, retryAfter: 1_000)))
    }

    private func claims(by verdict: ShardLogic.TokenVerdict, _ entry: HTTPRouteEntry) -> Result<Claims, HeadRefusal> {
        switch verdict {
        case .tooMany(let wait): return .failure(tooManyFailedTokens(retryAfter: wait))
        case .overloaded(let refusal): return .failure(.init(response: .overloaded(refusal)))
        case .refused(let failure): return .failure(.init(response: Self.unauthorized("\(failure)")))
        case .valid(let claims):
            guard claims.isBackend || entry.audience == .users else {
                let refusal = ServerMessage.ErrorMessage(code: .forbidden, message: "only a backend may do this")
                return .failure(.init(response: .error(403, refusal)))
            }
            return .success(claims)
        }
    }

    /// The rejection of a revoked token, or of a banned user; `nil` if the token is valid.
    func refuseRevoked(_ claims: Claims, from peer: PeerAddress, answer: @escaping (HeadRefusal?) -> Void) {
        logic.standing(of: claims) { standing in
            switch standing {
            case .valid?: answer(nil)
            case .banned(let ban)?: answer(.init(response: ban.refusal.response))
            case .revoked?:
                logic.recordFailedToken(from: logic.failedTokens.block(of: peer))
                answer(.init(response: Self.unauthorized("\(AuthenticationFailure.revoked)")))
            case nil: answer(Self.revocationUnknown)
            }
        }
    }

    // MARK: Rates

    /// Users' requests over HTTP and on their sockets share one bucket; backends act for many users.
    private func admits(_ user: UserID, _ entry: HTTPRouteEntry) -> HeadRefusal? {
        let now = logic.clock.now
        let message = "this user asks too fast: nothing was done"
        if let wait = logic.userRates.wait(for: entry.limits.price, by: user, at: now) {
            return .init(response: tooFast(.userRequests, message, retryAfter: wait))
        }
        if let wait = entry.rates?.charge(by: user, at: now) {
            return .init(response: tooFast(.userRequests, message, retryAfter: wait))
        }
        logic.userRates.consume(entry.limits.price, by: user, at: now)
        return nil
    }

    /// Without a token only the address can be limited; it has the rate of a user.
    private func admitsAnyone(_ request: HTTPRequest, _ entry: HTTPRouteEntry) -> HeadRefusal? {
        let (address, now) = (logic.failedTokens.block(of: request.peer), logic.clock.now)
        guard address != .none else { return nil }
        logic.addressRates.expire(now: now)
        if let wait = logic.addressRates.wait(for: entry.limits.price, by: address, at: now) {
            let message = "too many requests from this address: nothing was done"
            return .init(response: tooFast(.addressRequests, message, retryAfter: wait))
        }
        logic.addressRates.consume(entry.limits.price, by: address, at: now)
        return nil
    }

    static func unauthorized(_ message: String) -> HTTPResponse {
        var response = HTTPResponse.error(401, .init(code: .unauthorized, message: message))
        response.headers.append(("WWW-Authenticate", "Bearer"))
        return response
    }

    private func tooFast(_ limit: Limit, _ message: String, retryAfter wait: Milliseconds) -> HTTPResponse {
        logic.metrics.met(limit)
        var response = HTTPResponse.error(429, .init(code: .rateLimited, message: message, retryAfter: wait))
        response.headers.append(("Retry-After", String((wait + 999) / 1_000)))
        return response
    }

    /// The response if there is no place for another transfer.
    func refusal(_ limit: Limit) -> HTTPResponse {
        switch limit {
        case .userUploads:
            tooFast(limit, "this user has an upload in progress: one at a time", retryAfter: 1_000)
        case .uploadsPerAddress:
            tooFast(limit, "too many uploads from this address are in progress: try again later", retryAfter: 1_000)
        case .downloadsPerAddress:
            tooFast(limit, "too many files are being sent to this address: try again later", retryAfter: 1_000)
        case .uploads: busy(limit, "too many uploads are in progress: try again later")
        default: busy(limit, "too many files are being sent: try again later")
        }
    }

    /// For a limit of the process that may be over in a moment.
    private func busy(_ limit: Limit, _ message: String) -> HTTPResponse {
        logic.metrics.met(limit)
        var response = HTTPResponse.error(503, .init(code: .unavailable, message: message, retryAfter: 1_000))
        response.headers.append(("Retry-After", "1"))
        return response
    }

    // MARK: Files

    /// Creates the file for an upload's body.
    private func openSink(
        _ exchange: HTTPExchangeID, _ request: HTTPRequest, _ admission: Admission,
        found: @escaping (Result<Admission, HeadRefusal>) -> Void
    ) {
        let slot: Transfers.Slot
        do throws(Transfers.LimitMet) {
            slot = try transfers.beginUpload(
                by: admission.claims?.subject,
                from: admission.caller == .backend ? .none : logic.failedTokens.block(of: request.peer),
                at: logic.clock.now)
            slot.whenDisplaced { [giveUp] in giveUp(exchange) }
        } catch {
            return found(.failure(.init(response: refusal(error.limit))))
        }
        let (directory, size) = (logic.configuration.dataPath, request.head.contentLength ?? 0)
        do throws(WorkRefusal) {
            try logic.jobs.run(in: .files, for: exchange.socket) {
                Result { () throws(FileFailure) in try UploadedFile(in: directory, size: size) }
            } then: { outcome in
                switch outcome {
                case .success(.success(let file)):
                    var admission = admission
                    admission.sink = FileSink(file, slot, logic.jobs, exchange, resume: resumeBody) {
                        exchange, failure in settle(exchange, .failure(.init(response: response(to: failure))))
                    }
                    found(.success(admission))
                case .success(.failure(let failure)): found(.failure(.init(response: response(to: .file(failure)))))
                case .failure(let refusal): found(.failure(.init(response: .overloaded(refusal))))
                }
            }
        } catch {
            found(.failure(.init(response: .overloaded(error))))
        }
    }

    /// The response if a body cannot be stored.
    func response(to failure: FileSink.Failure) -> HTTPResponse {
        switch failure {
        case .work(let refusal): return .overloaded(refusal)
        case .file(let failure):
            if failure.isForRoom { logic.metrics.met(.diskReserve) }
            logic.logSparsely("upload not kept", ["reason": "\(failure)"], level: .error)
            var response = HTTPResponse.error(
                503,
                .init(code: .unavailable, message: "the server has no place for this now", retryAfter: 60_000))
            response.headers.append(("Retry-After", "60"))
            return response
        }
    }
}
