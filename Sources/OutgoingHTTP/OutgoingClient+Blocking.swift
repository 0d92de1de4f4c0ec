import Dispatch
import EventLoops

/// Sending from a thread that may block.
extension OutgoingClient {
    /// Sends a request and blocks until the response is there. For threads of a pool: never on a loop or in a task.
    ///
    /// - Throws: any ``OutgoingFailure`` but `cancelled`.
    public func sendAndBlock(_ request: OutgoingRequest) throws(OutgoingFailure) -> OutgoingResponse {
        let order = try TransferOrder(request)
        let result = Outcome()
        _ = try queue(for: order).add(order) { result.complete($0) }
        return try result.wait().get()
    }

    private final class Outcome: Sendable {
        private let result = Locked<Result<OutgoingResponse, OutgoingFailure>>(.failure(.stopped))
        private let isThere = DispatchSemaphore(value: 0)

        func complete(_ result: Result<OutgoingResponse, OutgoingFailure>) {
            self.result.withLock { $0 = result }
            isThere.signal()
        }

        func wait() -> Result<OutgoingResponse, OutgoingFailure> {
            isThere.wait()
            return result.withLock { $0 }
        }
    }
}
