import OutgoingHTTP
import PresenceProtocol
import Workers

@testable import PresenceCore

/// Notifies another server when a poll ends: `POST`, with `{"poll":"lunch"}`. The call runs on a pool for waiting, with
/// a time limit; failures are counted, and no request waits for it.
final class PollListener {
    static let address = Setting<String>(
        "polls.listener", "", about: "An http address that is told when a poll ends; empty: none.")
    static let pool = WorkerPlan(
        "poll-listener", threads: { $0[address].isEmpty ? 0 : 1 }, queue: { _ in 16 })
    private static let client = OutgoingClient(name: "polls", mostRunning: 1, mostQueued: 1)

    private unowned let shard: ShardLogic
    private var told: MetricCounter!
    private var missed: MetricCounter!

    init(_ shard: ShardLogic) { self.shard = shard }

    func register(in registry: inout Registry) {
        told = registry.counter("poll_ends_told_total", help: "ends of polls that polls.listener was told of")
        missed = registry.counter("poll_ends_missed_total", help: "ends of polls that it was not told of")
    }

    func notifyEnd(of poll: Identifier) {
        let address = shard.configuration[Self.address]
        guard !address.isEmpty else { return }
        var body = Array(#"{"poll":"#.utf8)
        JSONWriter.string(poll.string, to: &body)
        var request = OutgoingRequest("POST", address, body: body + Array("}".utf8))
        request.headers = [("content-type", "application/json")]
        request.limits.total = 5
        let call = request
        do throws(WorkRefusal) {
            try shard.jobs.run(in: Self.pool) {
                Result { () throws(OutgoingFailure) in try Self.client.sendAndBlock(call).status }
            } then: { [self] outcome in
                if case .success(.success(200..<300)) = outcome { told.value += 1 } else { missed.value += 1 }
            }
        } catch {
            missed.value += 1
        }
    }
}
