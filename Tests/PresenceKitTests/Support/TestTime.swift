import EventLoops
import Foundation

@testable import PresenceKit

/// Time that the test advances.
final class TestTime: Timekeeper {
    private struct State {
        var now = Moment(uptime: .zero, wall: Date(timeIntervalSince1970: 1_763_712_000))
        var sleepers: [UInt64: (until: Duration, continuation: CheckedContinuation<Void, any Error>)] = [:]
        /// Sleepers that were cancelled before they slept.
        var cancelled: Set<UInt64> = []
        var lastSleeper: UInt64 = 0
    }

    private let state = Locked(State())

    var now: Moment { state.withLock { $0.now } }

    func advance(by duration: Duration) {
        let awake = state.withLock { state in
            state.now.uptime += duration
            state.now.wall += duration.timeInterval
            let awake = state.sleepers.filter { $0.value.until <= state.now.uptime }
            for id in awake.keys { state.sleepers[id] = nil }
            return awake.values.map(\.continuation)
        }
        awake.forEach { $0.resume() }
    }

    func sleep(until uptime: Duration) async throws {
        let id = state.withLock { state in
            state.lastSleeper += 1
            return state.lastSleeper
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let early: Result<Void, any Error>? = state.withLock { state in
                    if state.cancelled.remove(id) != nil { return .failure(CancellationError()) }
                    if uptime <= state.now.uptime { return .success(()) }
                    state.sleepers[id] = (uptime, continuation)
                    return nil
                }
                if let early { continuation.resume(with: early) }
            }
        } onCancel: {
            let sleeper = state.withLock { state in
                let sleeper = state.sleepers.removeValue(forKey: id)
                if sleeper == nil { state.cancelled.insert(id) }
                return sleeper
            }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }
}
