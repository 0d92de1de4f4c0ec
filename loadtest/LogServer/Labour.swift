import Glibc
import PresenceCore
import PresenceProtocol

/// Jobs off the loop that only use a processor, to measure how very many of them affect other clients.
///
///     {"type":"labour","id":1,"milliseconds":20}       answered {"type":"laboured","id":1}
final class Labour: Feature {
    static let pool = WorkerPlan(
        "labour", threads: { _ in max(1, WorkerPlan.cores / 2) }, queue: { _ in 64 }, hasLowPriority: true)
    static let plan = FeaturePlan(name: "labour", pools: [pool])

    init(_ shard: ShardLogic) {}

    func register(in registry: inout Registry) {
        registry.request(
            "labour", order: .immediate,
            decode: { (members, _) throws(DecodingFailure) in
                let time = try members.needed(members["milliseconds"], "milliseconds").checkedInteger("milliseconds")
                guard (1...1_000).contains(time) else { throw .invalid("milliseconds", "must be from 1 to 1000") }
                return time
            },
            answer: { (milliseconds, context) async throws(Refusal) in
                try await context.work(Self.pool) { Self.toil(nanoseconds: milliseconds * 1_000_000) }
                return .message(Array(#"{"type":"laboured","id":\#(context.id ?? 0)}"#.utf8))
            })
    }

    /// Uses this much processor time, however long that takes on a busy machine.
    private static func toil(nanoseconds: Int64) {
        let end = threadTime() + nanoseconds
        while threadTime() < end {}
    }

    private static func threadTime() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
