import EventLoops
import PresenceCore
import PresenceProtocol
import WebSockets

/// `presenced doctor`, run from the console: looked at is everything, repaired nothing. It takes seconds. A caller who does not
/// wait for the answer finds the report with another call.
extension Console {
    /// Looking at all of Redis waits for it, one at a time.
    static let doctorThread = WorkerPlan("doctor", threads: { _ in 1 }, queue: { _ in 1 }, hasLowPriority: true)

    /// The process' last look, whichever shard is asked.
    private enum Run: Sendable {
        case none
        case running(since: Timestamp)
        case done(report: String, at: Timestamp)
        case failed(reason: String, at: Timestamp)
    }
    private static let last = Locked(Run.none)

    /// A run that has not ended by then was never begun, because its caller had gone.
    private static let longest: Milliseconds = 300_000

    func examine(_ call: HTTPCall) {
        let (configuration, now) = (shard.configuration, shard.clock.redisNow)
        let isBusy = Self.last.withLock { run in
            if case .running(let since) = run, now - since < Self.longest { return true }
            run = .running(since: now)
            return false
        }
        guard !isBusy else { return report(call) }
        call.work(Self.doctorThread) {
            Console.look(configuration, at: now)
        } then: { [self] _ in
            report(call)
        }
    }

    private static func look(_ configuration: ServerConfiguration, at now: Timestamp) {
        let run: Run
        do {
            let doctor = try Doctor(url: try Doctor.place(of: configuration), configuration: configuration)
            run = .done(report: try doctor.examine().json, at: now)
        } catch {
            run = .failed(reason: "\(error)", at: now)
        }
        last.withLock { $0 = run }
    }

    func report(_ call: HTTPCall) {
        let json =
            switch Self.last.withLock({ $0 }) {
            case .none: #"{"state":"none"}"#
            case .running(let since): #"{"state":"running","at":\#(since)}"#
            case .done(let report, let at): #"{"state":"done","at":\#(at),"report":\#(report)}"#
            case .failed(let reason, let at):
                #"{"state":"failed","at":\#(at),"reason":\#(JSONWriter.encoded(reason))}"#
            }
        call.respond(.json(200, json))
    }
}
