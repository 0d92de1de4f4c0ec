import WebSockets
import Workers

/// The jobs that a shard's connections and calls wait for. Those of a connection that goes are cancelled.
package final class Jobs {
    private let threads: any WorkerThreads
    private var bySocket: [SocketID: [UInt64: any CancellableWork]] = [:]
    private var numbers: UInt64 = 0

    init(_ threads: any WorkerThreads) { self.threads = threads }

    /// How many are waited for.
    package var count: Int { bySocket.values.reduce(0) { $0 + $1.count } }

    /// Runs `work` off the loop, then `then` on it, never within this call. Nothing is heard of it when the connection goes.
    ///
    /// - Parameter socket: Whose job it is: a WebSocket, or the connection of a call.
    package func run<Value: Sendable>(
        in pool: WorkerPlan, for socket: SocketID, _ work: @escaping @Sendable () -> Value,
        then: @escaping (Result<Value, WorkRefusal>) -> Void
    ) throws(WorkRefusal) {
        numbers += 1
        let number = numbers
        let job = try threads.submit(to: pool, work) { [unowned self] result in
            forget(number, of: socket)
            then(result)
        }
        bySocket[socket, default: [:]][number] = job
    }

    /// The same for what nobody's connection waits for.
    package func run<Value: Sendable>(
        in pool: WorkerPlan, _ work: @escaping @Sendable () -> Value,
        then: @escaping (Result<Value, WorkRefusal>) -> Void
    ) throws(WorkRefusal) {
        _ = try threads.submit(to: pool, work, then: then)
    }

    /// The connection is gone.
    func cancel(of socket: SocketID) {
        guard let jobs = bySocket.removeValue(forKey: socket) else { return }
        for job in jobs.values { job.cancel() }
    }

    private func forget(_ number: UInt64, of socket: SocketID) {
        bySocket[socket]?[number] = nil
        if bySocket[socket]?.isEmpty == true { bySocket[socket] = nil }
    }
}
