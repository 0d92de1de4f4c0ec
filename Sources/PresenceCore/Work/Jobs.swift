import WebSockets
import Workers

/// The jobs for a shard's connections and calls. A connection's jobs are cancelled when it closes.
package final class Jobs {
    private let threads: any WorkerThreads
    private var bySocket: [SocketID: [UInt64: Held]] = [:]
    private var numbers: UInt64 = 0

    private struct Held {
        let job: any CancellableWork
        let place: KeptPlace?
        let unrun: () -> Void
        let gone: () -> Void
    }

    init(_ threads: any WorkerThreads) { self.threads = threads }

    /// The number of pending jobs.
    package var count: Int { bySocket.values.reduce(0) { $0 + $1.count } }

    /// Runs `work` off the loop, then `then` on it, never during this call. `then` is not called if the connection
    /// closes before.
    ///
    /// - Parameters:
    ///   - socket: The WebSocket, or the connection of a call, that waits for the job.
    ///   - place: A place that was kept for the job.
    ///   - unrun: Called if the connection closes before the job has begun, which then never runs.
    ///   - gone: Called if the connection closes while the job runs.
    package func run<Value: Sendable>(
        in pool: WorkerPlan, for socket: SocketID, at place: KeptPlace? = nil,
        _ work: @escaping @Sendable () -> Value, unrun: @escaping () -> Void = {},
        gone: @escaping () -> Void = {}, then: @escaping (Result<Value, WorkRefusal>) -> Void
    ) throws(WorkRefusal) {
        numbers += 1
        let number = numbers
        place?.use(for: pool)
        let job = try threads.submit(to: pool, inKeptPlace: place != nil, work) { [unowned self] result in
            forget(number, of: socket)
            then(result)
        }
        bySocket[socket, default: [:]][number] = Held(job: job, place: place, unrun: unrun, gone: gone)
    }

    /// As above, but no connection waits for the job.
    package func run<Value: Sendable>(
        in pool: WorkerPlan, _ work: @escaping @Sendable () -> Value,
        then: @escaping (Result<Value, WorkRefusal>) -> Void
    ) throws(WorkRefusal) {
        _ = try threads.submit(to: pool, inKeptPlace: false, work, then: then)
    }

    /// Reserves a place in a pool's queue for a future job.
    func reservePlace(in pool: WorkerPlan, for address: AddressBlock) throws(PlaceRefusal) -> KeptPlace {
        try KeptPlace(in: pool, of: threads, for: address)
    }

    /// The connection is closed.
    func cancel(of socket: SocketID) {
        guard let jobs = bySocket.removeValue(forKey: socket) else { return }
        for held in jobs.values { if held.job.cancel() { held.unrun() } else { held.gone() } }
    }

    private func forget(_ number: UInt64, of socket: SocketID) {
        bySocket[socket]?[number] = nil
        if bySocket[socket]?.isEmpty == true { bySocket[socket] = nil }
    }
}
