import EventLoops
import PresenceCore
import PresenceProtocol
import WebSockets

/// Runs `presenced doctor` from the console, without repairs. A run takes seconds; a caller that does not wait for the response
/// gets the report with a later call.
extension Console {
    /// A check blocks on Redis, so it has a thread of its own; one check runs at a time.
    static let doctorThread = WorkerPlan("doctor", threads: { _ in 1 }, queue: { _ in 1 }, hasLowPriority: true)

    enum Run: Sendable {
        case none
        case running(since: Timestamp)
        case done(report: String, at: Timestamp)
        case failed(reason: String, at: Timestamp)
    }

    /// A run older than this was never started, because its caller had disconnected.
    private static let longest: Milliseconds = 300_000

    func examine(_ call: HTTPCall) {
        let (configuration, now, state) = (shard.configuration, shard.clock.redisNow, state)
        let isBusy = state.doctor.withLock { run in
            if case .running(let since) = run, now - since < Self.longest { return true }
            run = .running(since: now)
            return false
        }
        guard !isBusy else { return report(call) }
        call.work(Self.doctorThread) {
            let run = Console.examine(configuration, at: now)
            state.doctor.withLock { $0 = run }
        } then: { [self] _ in
            report(call)
        }
    }

    private static func examine(_ configuration: ServerConfiguration, at now: Timestamp) -> Run {
        do {
            let doctor = try Doctor(url: try Doctor.place(of: configuration), configuration: configuration)
            return .done(report: try doctor.examine().json, at: now)
        } catch {
            return .failed(reason: "\(error)", at: now)
        }
    }

    func report(_ call: HTTPCall) {
        let json =
            switch state.doctor.withLock({ $0 }) {
            case .none: #"{"state":"none"}"#
            case .running(let since): #"{"state":"running","at":\#(since)}"#
            case .done(let report, let at): #"{"state":"done","at":\#(at),"report":\#(report)}"#
            case .failed(let reason, let at):
                #"{"state":"failed","at":\#(at),"reason":\#(JSONWriter.encoded(reason))}"#
            }
        call.respond(.json(200, json))
    }
}
