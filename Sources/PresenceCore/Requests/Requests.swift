import PresenceProtocol
import WebSockets

// The path of a request, in the order of the steps. A message that a user sends takes this path:
//
// 1. here: the frame of a socket is decoded, waits for its turn, and is charged; the feature's function runs as a task
// 2. the feature: `PresenceServer/Features/Messages/Sending.swift` decodes `send`, checks it, and calls its script
// 3. `Features/Messages/Scripts/send.lua` decides, stores, and publishes the event "M"; the reply to the sender follows
// 4. `Features/Messages/MessageLogs.swift`: each shard with watchers of the conversation receives the event
// 5. `FanOut/Watchers+Logs.swift` marks the watchers
// 6. `FanOut/SocketWriter.swift` writes to their sockets at the end of the loop's turn

extension ShardLogic {
    // MARK: From the socket

    /// A whole message has arrived.
    func received(_ message: UnsafeRawBufferPointer, on socket: SocketID) {
        guard let connection = watchers[socket], !connection.isClosed, !connection.isDeserted else { return }
        metrics.messagesIn += 1
        connection.lastHeard = clock.now
        if mustWait(connection) || !handle(message, on: connection) { hold(message, of: connection) }
    }

    /// - Returns: Whether the message's turn has come: if not, nothing was done, and the caller holds it.
    package func handle(_ bytes: UnsafeRawBufferPointer, on connection: Connection) -> Bool {
        var id: Int64?
        var needsSession = false
        do throws(DecodingFailure) {
            let members: ClientMembers
            (members, id) = try ClientMembers.scan(bytes)
            let type = try members.requestType()
            needsSession = !type.equals("connect")
            let request = try registry.request(of: type)
            guard connection.lane.mayBegin(request.order) || letsRequestsPass else {
                // Marks that are being collected do not wait for anything else.
                replies.hurry(connection)
                return false
            }
            try traceRequest(id, of: connection, type: type) { () throws(DecodingFailure) in
                try request.handle(self, members, id, connection, bytes.count)
            }
        } catch {
            let id = error.id ?? id
            let tokens = RequestPrice.of(bytes: bytes.count, or: 1)
            guard charge(connection, id, tokens: tokens, of: connection.session?.user.id) else { return true }
            if connection.session == nil, needsSession {
                refuseUnconnected(connection, id)
            } else {
                refuse(error.errorMessage.with(id: id), on: connection)
            }
        }
        return true
    }
}

/// A struct, since each look-up in a dictionary of bare closures allocates.
struct RegisteredRequest {
    let order: RequestOrder
    let handle: RequestHandler
}

/// Decodes a request of this many bytes, and handles it if its sender's rate allows that.
package typealias RequestHandler = (ShardLogic, ClientMembers, Int64?, Connection, Int) throws(DecodingFailure) -> Void

/// Features register their requests.
extension Registry {
    /// A request within a session: `decode` and `price` are evaluated before `handle` is called.
    ///
    /// - Parameters:
    ///   - name: The message's `type`.
    ///   - price: Its price in the user's and the connection's rate; a long request may cost more (`RequestPrice.of`).
    ///   - order: The earlier requests of its connection for which it waits.
    ///   - mayBeLong: Whether its reply may be much longer than `price` implies (`LongAnswers`).
    ///   - decode: Decodes and validates it.
    package mutating func request<Request>(
        _ name: String, order: RequestOrder = .change, price: @escaping (Request) -> Int = { _ in 1 },
        mayBeLong: @escaping (Request) -> Bool = { _ in false },
        decode: @escaping (ClientMembers, ConnectionLimits) throws(DecodingFailure) -> Request,
        handle: @escaping (Request, RequestContext) -> Void
    ) {
        add(name, order) { (shard, members, id, connection, bytes) throws(DecodingFailure) in
            let request = try decode(members, shard.connectionLimits)
            func act() {
                let user = connection.session?.user.id
                let tokens = RequestPrice.of(bytes: bytes, or: price(request))
                guard shard.charge(connection, id, tokens: tokens, of: user) else { return }
                guard let session = connection.session else { return shard.refuseUnconnected(connection, id) }
                guard shard.hasShare(session.user.id, for: bytes) else {
                    return shard.refuse(Refusal(.overloaded).message.with(id: id), on: connection)
                }
                shard.begin(order, on: connection, bytes: bytes) { turn in
                    let context = RequestContext(
                        shard: shard, connection: connection, session: session, id: id, turn: turn)
                    handle(request, context)
                }
            }
            guard let user = connection.session?.user.id, mayBeLong(request) else { return act() }
            shard.longAnswers.perform(of: user, on: connection, price: price(request), act)
        }
    }

    /// A request that takes several steps: `answer` runs as a task of the shard, in the request's turn.
    ///
    /// Parameters as above. An error thrown by `answer` is the reply: a ``Refusal`` or a `DecodingFailure`. (The throw
    /// is untyped because closures without an explicit signature are.)
    package mutating func request<Request>(
        _ name: String, order: RequestOrder = .change, price: @escaping (Request) -> Int = { _ in 1 },
        mayBeLong: @escaping (Request) -> Bool = { _ in false },
        decode: @escaping (ClientMembers, ConnectionLimits) throws(DecodingFailure) -> Request,
        answer: @escaping (Request, RequestContext) async throws -> Answer
    ) {
        request(name, order: order, price: price, mayBeLong: mayBeLong, decode: decode) { request, context in
            context.shard.perform(context) { try await answer(request, context) }
        }
    }

    /// A request that opens a session.
    mutating func opening<Request>(
        _ name: String, decode: @escaping (ClientMembers) throws(DecodingFailure) -> Request,
        handle: @escaping (Request, Connection, Int64?) -> Void
    ) {
        add(name, .immediate) { (shard, members, id, connection, bytes) throws(DecodingFailure) in
            let request = try decode(members)
            let tokens = RequestPrice.of(bytes: bytes, or: 1)
            guard shard.charge(connection, id, tokens: tokens, of: connection.session?.user.id) else { return }
            handle(request, connection, id)
        }
    }

    private mutating func add(_ name: String, _ order: RequestOrder, _ handler: @escaping RequestHandler) {
        precondition(name.utf8.count <= RequestName.longest, "the request \(name) has too long a name")
        let previous = requests.updateValue(RegisteredRequest(order: order, handle: handler), forKey: RequestName(name))
        precondition(previous == nil, "two features register the request \(name)")
    }

    /// - Throws: `unknownType` if no feature has registered it.
    @inline(__always)
    func request(of type: JSONValue) throws(DecodingFailure) -> RegisteredRequest {
        let found =
            type.isEscaped ? type.string.flatMap { requests[RequestName($0)] } : requests[RequestName(type.bytes)]
        guard let found else { throw .unknownType }
        return found
    }
}

extension ShardLogic {
    // MARK: The feature's function

    /// Carries out a request as a task, and replies in its turn.
    func perform(_ context: RequestContext, _ answer: @escaping () async throws -> Answer) {
        let connection = context.connection
        let reply = replies.expect(on: connection)
        tasks.run { [self] in
            let outcome: Result<Answer, Refusal>
            do { outcome = .success(try await answer()) } catch { outcome = .failure(Refusal(thrown: error)) }
            replies.fulfil(reply, on: connection) { [self] in
                guard !connection.isClosed else { return }
                switch outcome {
                case .success(let answer): answer.write(context)
                case .failure(let refusal): refuse(refusal, context)
                }
            }
        }
    }

    // MARK: Errors

    func refuseUnconnected(_ connection: Connection, _ id: Int64?) {
        refuse(.init(id: id, code: .unauthorized, message: "connect first"), on: connection)
    }

    /// Replies with an error in its turn; the tenth `bad_request` closes the connection.
    package func refuse(_ error: ServerMessage.ErrorMessage, on connection: Connection) {
        replies.now(on: connection) { [self] in
            replies.error(error, to: connection)
            guard error.code == .badRequest else { return }
            connection.badRequests += 1
            if connection.badRequests >= configuration.limits.badRequests {
                close(connection, .policyViolation, reason: "too many bad requests")
            }
        }
    }

    func refuse(_ refusal: Refusal, _ context: RequestContext) {
        refuse(refusal, context.id, on: context.connection, of: context.session)
    }

    func refuse(_ refusal: Refusal, _ id: Int64?, on connection: Connection, of session: Session?) {
        if let session {
            if refusal.endsSession { sessions.isMissing(session) }
            // Treated like the event of the revocation, which is still to come. After an error, clients would drop
            // requests that they keep for repetition.
            if refusal.message.code == .unauthorized { return sessions.revoke(session) }
        }
        if refusal.message.code == .rateLimited { return limitRate(of: connection, id, refusal) }
        replies.error(refusal.message.with(id: id), to: connection)
    }

    package var connectionLimits: ConnectionLimits {
        ConnectionLimits(
            maxMessageBytes: configuration.limits.maxMessageBytes,
            maxServerMessageBytes: configuration.limits.maxServerMessageBytes,
            subscriptions: configuration.limits.subscriptions, subscribeBatch: configuration.limits.subscribeBatch)
    }
}

/// The sender of a request, and the destination of its reply.
package struct RequestContext {
    unowned let shard: ShardLogic
    package let connection: Connection
    package let session: Session
    /// The request's id, for the reply.
    package let id: Int64?
    /// The request's turn, which is over at the latest when the reply is known.
    package let turn: RequestTurn
    package var user: UserID { session.user.id }
    /// The author of the request's changes.
    package var writer: Writer { Writer(session) }
}

/// The reply to a request, written when its turn comes.
///
/// Replies leave in the order of their requests, so a reply may wait for others. A snapshot is taken when the reply is
/// written, so that later events continue it.
package struct Answer {
    let write: (RequestContext) -> Void

    /// `write` adds the reply to the data that the connection gets at the end of the loop's turn, without waiting for
    /// anything.
    package init(_ write: @escaping (RequestContext) -> Void) { self.write = write }

    /// The request was carried out, and has no further result.
    package static var ok: Answer {
        Answer { context in context.shard.replies.ok(context.id, to: context.connection) }
    }

    /// For a failure that is detected only while the reply is written.
    package static func refusal(_ refusal: Refusal) -> Answer {
        Answer { context in context.shard.refuse(refusal, context) }
    }

    /// A message of the server, as JSON.
    package static func message(_ payload: [UInt8]) -> Answer {
        Answer { context in context.shard.replies.send(payload, to: context.connection) }
    }
}
