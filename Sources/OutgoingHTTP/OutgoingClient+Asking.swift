public import EventLoops

/// The ways to send: from a loop, whose code does not wait, and from a task.
extension OutgoingClient {
    /// Sends a request. `then` gets the outcome on `loop`, which is the loop of this call, and never within the call.
    ///
    /// - Throws: `overloaded`, `invalid` or `stopped`.
    public func send(
        _ request: OutgoingRequest, on loop: EventLoop,
        then: @escaping (Result<OutgoingResponse, OutgoingFailure>) -> Void
    ) throws(OutgoingFailure) -> OutgoingTask {
        try add(try .init(request), on: loop, then)
    }

    /// Sends a mail in the same way. A response means that the server accepted it.
    public func send(
        _ mail: OutgoingMail, on loop: EventLoop,
        then: @escaping (Result<OutgoingResponse, OutgoingFailure>) -> Void
    ) throws(OutgoingFailure) -> OutgoingTask {
        try add(try .init(mail), on: loop, then)
    }

    private func add(
        _ order: TransferOrder, on loop: EventLoop,
        _ then: @escaping (Result<OutgoingResponse, OutgoingFailure>) -> Void
    ) throws(OutgoingFailure) -> OutgoingTask {
        let queue = queue(for: order)
        let task = OutgoingTask(queue: queue, loop: loop, then: then)
        task.number = try queue.add(order) { task.deliver($0) }
        return task
    }

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

/// A transfer that was started on a loop, as its sender sees it.
// @unchecked: `then` is used on the loop's thread only (after the loop has ended, on the thread that does its late
// work). The rest does not change once the sender has the task.
public final class OutgoingTask: @unchecked Sendable {
    private let queue: TransferQueue
    private let loop: EventLoop
    /// The captures of `then` belong to the loop, and are released on it, by `cancel` or after the call.
    private var then: ((Result<OutgoingResponse, OutgoingFailure>) -> Void)?
    /// Set before any other thread can see the task's number.
    fileprivate(set) var number: UInt64 = 0

    init(
        queue: TransferQueue, loop: EventLoop, then: @escaping (Result<OutgoingResponse, OutgoingFailure>) -> Void
    ) {
        self.queue = queue
        self.loop = loop
        self.then = then
    }

    /// Call it on the task's loop. A waiting request is not sent; a running one is aborted, possibly after the server
    /// processed it.
    public func cancel() {
        guard then != nil else { return }
        then = nil
        queue.cancel(number)
    }

    /// Call it from any thread.
    fileprivate func deliver(_ result: Result<OutgoingResponse, OutgoingFailure>) {
        loop.execute { [self] in
            let then = then
            self.then = nil
            then?(result)
        }
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
