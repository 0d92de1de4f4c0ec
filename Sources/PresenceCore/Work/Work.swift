import PresenceProtocol
import WebSockets
import Workers

/// What features use for what takes too long for the loop: hashes, pictures, anything beyond some 100 µs.
extension ShardLogic {
    /// Runs `job` off the loop for a request, then `then` on it, in the request's turn: it writes the answer. If too many
    /// jobs wait, the request is refused with the time after which to try again. If the connection goes meanwhile, a job
    /// that waits is not run, and `then` is not called.
    ///
    /// - Parameters:
    ///   - pool: Named in the feature's plan.
    ///   - job: Runs on another thread, so it captures values only.
    package func work<Value: Sendable>(
        _ pool: WorkerPlan, for context: RequestContext, _ job: @escaping @Sendable () -> Value,
        then: @escaping (Value) -> Void
    ) {
        let connection = context.connection
        let reply = replies.expect(on: connection)
        func answer(_ result: Result<Value, WorkRefusal>) {
            replies.fulfil(reply, on: connection) { [self] in
                guard !connection.isClosed else { return }
                switch result {
                case .success(let value): then(value)
                case .failure(let refusal): replies.error(.init(refusal, id: context.id), to: connection)
                }
            }
        }
        do throws(WorkRefusal) {
            try jobs.run(in: pool, for: connection.socket, job, then: trace?.carry(answer) ?? answer)
        } catch {
            answer(.failure(error))
        }
    }
}

extension HTTPCall {
    /// The same for a call. `then` answers it, or goes on.
    package func work<Value: Sendable>(
        _ pool: WorkerPlan, _ job: @escaping @Sendable () -> Value, then: @escaping (Value) -> Void
    ) {
        func answer(_ result: Result<Value, WorkRefusal>) {
            switch result {
            case .success(let value): then(value)
            case .failure(let refusal): respond(.overloaded(refusal))
            }
        }
        do throws(WorkRefusal) {
            try shard.jobs.run(in: pool, for: exchange.socket, job, then: shard.trace?.carry(answer) ?? answer)
        } catch {
            respond(.overloaded(error))
        }
    }
}

extension WorkRefusal {
    /// When to try again.
    var wait: Milliseconds {
        switch self {
        case .overloaded(let seconds): Milliseconds(seconds * 1_000)
        case .stopped: 1_000
        }
    }
}

extension ServerMessage.ErrorMessage {
    init(_ refusal: WorkRefusal, id: Int64? = nil) {
        self.init(
            id: id, code: .unavailable, message: "the server has too much of this to do: nothing was done",
            retryAfter: refusal.wait)
    }
}

extension HTTPResponse {
    static func overloaded(_ refusal: WorkRefusal) -> HTTPResponse {
        var response = error(503, .init(refusal))
        response.headers.append(("Retry-After", String((refusal.wait + 999) / 1_000)))
        return response
    }
}
