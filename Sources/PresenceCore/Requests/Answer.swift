import PresenceProtocol
import WebSockets

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

extension ShardLogic {
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
