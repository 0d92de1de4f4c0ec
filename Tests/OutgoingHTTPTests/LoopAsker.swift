import EventLoops

@testable import OutgoingHTTP

/// Sends requests from a loop, and records the results in order.
final class LoopAsker: Sendable {
    typealias Heard = Result<OutgoingResponse, OutgoingFailure>
    let loop: EventLoop
    private let state = Locked(State())

    private struct State {
        var heard: [Heard] = []
        var expected = 0
        var waiting: CheckedContinuation<Void, Never>?
    }

    init() throws {
        loop = try EventLoop(name: "asker")
        loop.start()
    }

    deinit {
        loop.stop()
        if !loop.isCurrent { loop.join() }
    }

    /// The task may be cancelled by `cancel` only: it is the loop's.
    @discardableResult
    func send(_ client: OutgoingClient, _ request: OutgoingRequest) async -> OutgoingTask? {
        await withCheckedContinuation { done in
            loop.execute { [self] in
                do throws(OutgoingFailure) {
                    let task = try client.send(request, on: loop) { [self] result in
                        precondition(loop.isCurrent, "heard on another thread")
                        record(result)
                    }
                    done.resume(returning: task)
                } catch {
                    record(.failure(error))
                    done.resume(returning: nil)
                }
            }
        }
    }

    func cancel(_ task: OutgoingTask?) async {
        await withCheckedContinuation { done in
            loop.execute {
                task?.cancel()
                task?.cancel()
                done.resume()
            }
        }
    }

    private func record(_ result: Heard) {
        let waiting: CheckedContinuation<Void, Never>? = state.withLock { state in
            state.heard.append(result)
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
        return state.withLock { $0.heard }
    }
}
