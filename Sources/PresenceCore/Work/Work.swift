import PresenceProtocol
import WebSockets
import Workers

/// Features' access to threads, for work that takes too long for the loop: hashes, pictures, anything beyond some 100 µs.
extension ShardLogic {
    /// Runs `job` off the loop for a request, then `then` on the loop, in the request's turn: `then` writes the reply.
    /// If too many jobs wait, the request is rejected with the time after which to retry. If the connection closes
    /// meanwhile, a waiting job is not run, and `then` is not called.
    ///
    /// - Parameters:
    ///   - pool: One of the pools in the feature's plan.
    ///   - job: Runs on another thread, so it captures values only.
    package func work<Value: Sendable>(
        _ pool: WorkerPlan, for context: RequestContext, _ job: @escaping @Sendable () -> Value,
        then: @escaping (Value) -> Void
    ) {
        let connection = context.connection
        let reply = replies.expect(on: connection)
        func complete(_ result: Result<Value, WorkRefusal>) {
            replies.fulfil(reply, on: connection) { [self] in
                guard !connection.isClosed else { return }
                switch result {
                case .success(let value): then(value)
                case .failure(let refusal): replies.error(.init(refusal, id: context.id), to: connection)
                }
            }
        }
        do throws(WorkRefusal) {
            try jobs.run(in: pool, for: connection.socket, job, then: trace?.carry(complete) ?? complete)
        } catch {
            complete(.failure(error))
        }
    }
}

extension HTTPCall {
    /// Runs a job for an HTTP call. `then` responds, or continues.
    ///
    /// - Parameters:
    ///   - place: A place that was reserved for the job (`reservePlace`).
    ///   - unrun: Called if the job is never run, or its result is dropped: it was rejected, its connection closed
    ///     before it had begun, or the server stops.
    package func work<Value: Sendable>(
        _ pool: WorkerPlan, at place: KeptPlace? = nil, _ job: @escaping @Sendable () -> Value,
        unrun: @escaping () -> Void = {}, then: @escaping (Value) -> Void
    ) {
        func complete(_ result: Result<Value, WorkRefusal>) {
            switch result {
            case .success(let value): then(value)
            case .failure(let refusal):
                unrun()
                respond(.overloaded(refusal))
            }
        }
        guard api.isAwaited(exchange) else { return unrun() }
        do throws(WorkRefusal) {
            try shard.jobs.run(
                in: pool, for: exchange.socket, at: place, job, unrun: unrun,
                then: shard.trace?.carry(complete) ?? complete
            )
        } catch {
            complete(.failure(error))
        }
    }

    /// Reserves a place in a pool's queue for a future job. Returns `nil` after rejecting the call if too many jobs wait,
    /// or if the caller's address has used its share.
    package func reservePlace(in pool: WorkerPlan) -> KeptPlace? {
        do throws(PlaceRefusal) {
            return try shard.jobs.reservePlace(in: pool, for: address)
        } catch {
            switch error {
            case .poolIsFull(let refusal): respond(.overloaded(refusal))
            case .addressHasShare:
                refuse(.workPerAddress, retryAfter: 1_000, "too many jobs from this address: nothing was done")
            }
            return nil
        }
    }
}

// MARK: - In async functions

extension RequestContext {
    /// Runs `job` off the loop, and returns its result.
    ///
    /// - Parameters:
    ///   - pool: One of the pools in the feature's plan.
    ///   - job: Runs on another thread, so it captures values only.
    /// - Throws: If too many jobs wait, or the connection closes meanwhile.
    package func work<Value: Sendable>(
        _ pool: WorkerPlan, _ job: @escaping @Sendable () -> Value
    ) async throws(Refusal) -> Value {
        try await shard.work(pool, for: connection.socket, at: nil, job, unrun: {})
    }
}

extension HTTPCall {
    /// Runs a job for an HTTP call, and returns its result.
    ///
    /// - Parameters:
    ///   - place: A place that was kept for the job (`place(in:)`).
    ///   - unrun: Called if the job is never run.
    package func work<Value: Sendable>(
        _ pool: WorkerPlan, at place: KeptPlace? = nil, unrun: @escaping () -> Void = {},
        _ job: @escaping @Sendable () -> Value
    ) async throws(Refusal) -> Value {
        guard api.isAwaited(exchange) else {
            unrun()
            throw .unheard
        }
        return try await shard.work(pool, for: exchange.socket, at: place, job, unrun: unrun)
    }

    /// Reserves a place in a pool's queue for a future job.
    ///
    /// - Throws: If too many jobs wait, or the caller's address has used its share.
    package func place(in pool: WorkerPlan) throws(Refusal) -> KeptPlace {
        do throws(PlaceRefusal) {
            return try shard.jobs.reservePlace(in: pool, for: address)
        } catch {
            switch error {
            case .poolIsFull(let refusal): throw Refusal(refusal)
            case .addressHasShare:
                throw met(
                    .workPerAddress, retryAfter: 1_000, "too many jobs from this address: nothing was done")
            }
        }
    }
}

extension ShardLogic {
    /// Runs `job` off the loop, even if its connection closes.
    ///
    /// - Throws: If too many jobs wait.
    package func work<Value: Sendable>(
        _ pool: WorkerPlan, _ job: @escaping @Sendable () -> Value
    ) async throws(Refusal) -> Value {
        let result: Result<Value, WorkRefusal> = await tasks.wait { done in
            do throws(WorkRefusal) { try jobs.run(in: pool, job, then: done) } catch { done(.failure(error)) }
        }
        return try result.mapError { Refusal($0) }.get()
    }

    fileprivate func work<Value: Sendable>(
        _ pool: WorkerPlan, for socket: SocketID, at place: KeptPlace?, _ job: @escaping @Sendable () -> Value,
        unrun: @escaping () -> Void
    ) async throws(Refusal) -> Value {
        let result: Result<Value, Refusal> = await tasks.wait { done in
            do throws(WorkRefusal) {
                try jobs.run(in: pool, for: socket, at: place, job) {
                    unrun()
                    done(.failure(.unheard))
                } gone: {
                    done(.failure(.unheard))
                } then: { outcome in
                    if case .failure = outcome { unrun() }
                    done(outcome.mapError { Refusal($0) })
                }
            } catch {
                unrun()
                done(.failure(Refusal(error)))
            }
        }
        return try result.get()
    }
}

extension WorkRefusal {
    /// When to retry.
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
    package static func overloaded(_ refusal: WorkRefusal) -> HTTPResponse {
        var response = error(503, .init(refusal))
        response.headers.append(("Retry-After", String((refusal.wait + 999) / 1_000)))
        return response
    }
}
