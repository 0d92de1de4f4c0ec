import EventLoops

/// Sending from a task.
extension OutgoingClient {
    /// Sends a request and waits for the response.
    ///
    /// - Throws: any ``OutgoingFailure``; `cancelled` if the task is cancelled.
    public func send(_ request: OutgoingRequest) async throws(OutgoingFailure) -> OutgoingResponse {
        try await wait(for: try .init(request))
    }

    /// Sends a mail and waits until the server has accepted it.
    public func send(_ mail: OutgoingMail) async throws(OutgoingFailure) -> OutgoingResponse {
        try await wait(for: try .init(mail))
    }

    private func wait(for order: TransferOrder) async throws(OutgoingFailure) -> OutgoingResponse {
        guard !Task.isCancelled else { throw .cancelled }
        let waiter = Waiter()
        let queue = queue(for: order)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                waiter.continuation.withLock { $0 = continuation }
                do throws(OutgoingFailure) {
                    let number = try queue.add(order) { waiter.resume($0) }
                    if waiter.began(number) { queue.cancel(number) }
                } catch {
                    waiter.resume(.failure(error))
                }
            }
        } onCancel: {
            if let number = waiter.cancel() { queue.cancel(number) }
        }
        return try result.get()
    }
}

/// A Swift task that waits for a transfer. It is resumed once.
private final class Waiter: Sendable {
    typealias Outcome = Result<OutgoingResponse, OutgoingFailure>
    let continuation = Locked<CheckedContinuation<Outcome, Never>?>(nil)
    private let state = Locked((number: UInt64?.none, isCancelled: false))

    func resume(_ result: Outcome) {
        let continuation = continuation.withLock { continuation in
            defer { continuation = nil }
            return continuation
        }
        continuation?.resume(returning: result)
    }

    /// Stores the number. Returns whether the task was cancelled before that.
    func began(_ number: UInt64) -> Bool {
        let isCancelled = state.withLock { state in
            state.number = number
            return state.isCancelled
        }
        if isCancelled { resume(.failure(.cancelled)) }
        return isCancelled
    }

    /// The number of the transfer to cancel, if it has one.
    func cancel() -> UInt64? {
        let number = state.withLock { state in
            state.isCancelled = true
            return state.number
        }
        if number != nil { resume(.failure(.cancelled)) }
        return number
    }
}
