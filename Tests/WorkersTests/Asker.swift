import Dispatch
import EventLoops

@testable import Workers

/// Submits jobs from a loop, and records the results in order.
final class Asker: Sendable {
    let loop: EventLoop
    private let state = Locked(State())

    private struct State {
        var heard: [Heard] = []
        var expected = 0
        var waiting: CheckedContinuation<Void, Never>?
    }

    enum Heard: Equatable {
        case result(Int)
        case refused(WorkRefusal)
    }

    init(_ name: String = "asker") throws {
        loop = try EventLoop(name: name)
        loop.start()
    }

    deinit {
        loop.stop()
        // The last reference may be released on the loop itself.
        if !loop.isCurrent { loop.join() }
    }

    /// Runs `work` on the loop and gives its result.
    @discardableResult
    func turn<Value: Sendable>(_ work: @escaping @Sendable (Asker) -> Value) async -> Value {
        await withCheckedContinuation { done in
            loop.execute { [self] in done.resume(returning: work(self)) }
        }
    }

    /// On the loop: submits a job, and records its result; a rejection immediately.
    @discardableResult
    func ask(_ pool: WorkerPool, inKeptPlace: Bool = false, _ work: @escaping @Sendable () -> Int) -> Job<Int>? {
        do {
            return try pool.submit(on: loop, inKeptPlace: inKeptPlace, work) { [self] result in
                loop.preconditionIsCurrent()
                switch result {
                case .success(let value): record(.result(value))
                case .failure(let refusal): record(.refused(refusal))
                }
            }
        } catch {
            record(.refused(error))
            return nil
        }
    }

    private func record(_ heard: Heard) {
        let waiting: CheckedContinuation<Void, Never>? = state.withLock { state in
            state.heard.append(heard)
            guard state.heard.count >= state.expected else { return nil }
            defer { state.waiting = nil }
            return state.waiting
        }
        waiting?.resume()
    }

    /// The results, once there are this many.
    func heard(_ count: Int) async -> [Heard] {
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
            let isThere: Bool = state.withLock { state in
                state.expected = count
                if state.heard.count < count { state.waiting = done }
                return state.heard.count >= count
            }
            if isThere { done.resume() }
        }
        return heardSoFar
    }

    var heardSoFar: [Heard] { state.withLock { $0.heard } }
}

extension EventLoop {
    func preconditionIsCurrent() { precondition(isCurrent, "heard on another thread") }
}

/// A job that waits for a signal.
final class Gate: Sendable {
    private let reached = DispatchSemaphore(value: 0)
    private let opened = DispatchSemaphore(value: 0)

    /// In the job.
    func pass(_ value: Int) -> Int {
        reached.signal()
        opened.wait()
        return value
    }

    /// Blocks until a job stands before it.
    func awaitJob() { reached.wait() }

    func open() { opened.signal() }
}
