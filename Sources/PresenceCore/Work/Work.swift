import PresenceProtocol
import WebSockets
import Workers

/// Features' access to threads, for work that takes too long for the loop: hashes, pictures, anything beyond some 100 µs.
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

    /// Runs a job for an HTTP call, then `then`, which responds. Otherwise this responds that too many jobs wait.
    package func work<Value: Sendable>(
        _ pool: WorkerPlan, _ job: @escaping @Sendable () -> Value, then: @escaping (Value) -> Void
    ) {
        shard.tasks.run { [self] in
            do throws(Refusal) {
                then(try await work(pool, job))
            } catch {
                if !error.isUnheard { respond(error.response) }
            }
        }
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
