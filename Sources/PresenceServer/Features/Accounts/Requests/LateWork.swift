import PresenceCore
import PresenceProtocol
import Redis

/// The work of requests that are answered before anything is looked up, so that the time of the answer reveals nothing.
///
/// The client does not learn if Redis refuses the change. The change is retried for half a minute. If the server stops
/// meanwhile, the request is lost, and the user asks again.
final class LateWork {
    typealias Job = () async throws(RedisFailure) -> Void

    private unowned let shard: ShardLogic
    private var retry: DeadlineKind!
    /// Jobs that Redis did not accept, by the number of their deadline.
    private var waiting: [UInt64: (job: Job, failures: Int)] = [:]
    private var lastNumber: UInt64 = 0

    /// The delays before the retries.
    private static let pauses: [Milliseconds] = [1_000, 2_000, 4_000, 8_000, 16_000]
    private static let mostWaiting = 1_000

    init(_ shard: ShardLogic, in registry: inout Registry) {
        self.shard = shard
        retry = registry.deadline { [unowned self] key in
            guard case .number(let number) = key, let next = waiting.removeValue(forKey: number) else { return }
            begin(next.job, failures: next.failures)
        }
    }

    /// - Parameter job: Runs again after a failure that may pass, so it must recognise what it has done already.
    func begin(_ job: @escaping Job, failures: Int = 0) {
        shard.tasks.run { [self] in
            do throws(RedisFailure) {
                try await job()
            } catch {
                if !error.isLasting { postpone(job, failures) }
            }
        }
    }

    private func postpone(_ job: @escaping Job, _ failures: Int) {
        guard failures < Self.pauses.count, waiting.count < Self.mostWaiting else { return }
        lastNumber += 1
        waiting[lastNumber] = (job, failures + 1)
        shard.deadlines.set(retry, .number(lastNumber), at: shard.clock.now + Self.pauses[failures])
    }
}
