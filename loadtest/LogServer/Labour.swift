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

    private unowned let shard: ShardLogic

    init(_ shard: ShardLogic) { self.shard = shard }

    func register(in registry: inout Registry) {
        registry.request(
            "labour", order: .immediate,
            decode: { (members, _) throws(DecodingFailure) in
                let time = try members.needed(members["milliseconds"], "milliseconds").checkedInteger("milliseconds")
                guard (1...1_000).contains(time) else { throw .invalid("milliseconds", "must be from 1 to 1000") }
                return time
            }
        ) { [unowned self] milliseconds, context in
            shard.work(Self.pool, for: context) {
                Self.toil(nanoseconds: milliseconds * 1_000_000)
            } then: { [unowned shard] in
                let answer = #"{"type":"laboured","id":\#(context.id ?? 0)}"#
                shard.replies.send(Array(answer.utf8), to: context.connection)
            }
        }
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
