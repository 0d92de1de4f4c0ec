import Foundation

/// The results of a run about accounts.
struct AccountsReport: Report {
    let scenario = "accounts"
    let server: String
    let people: Int
    let atOnce: Int
    let measured: [AccountsRun.Measured]
    /// Absent without a burst, like all fields of the bystanders.
    let burst: AccountsRun.Burst?
    let bystanders: Int
    let bystanderRate: Double
    /// From a change's intended time to its receipt.
    let bystanderBeforeMilliseconds: Latencies.Summary?
    /// Changes that were due during the burst.
    let bystanderDuringMilliseconds: Latencies.Summary?
    /// Since the servers started; absent without --server-pid.
    let serverCPUSeconds: Double?
    let bottlenecks: [String]
    let failures: [String]
    let succeeded: Bool

    init(
        _ options: AccountsCommand, _ measured: [AccountsRun.Measured], _ burst: AccountsRun.Burst? = nil,
        _ others: Bystanders.State? = nil, serverUsed: Nanoseconds
    ) {
        server = options.server.url
        people = options.people
        atOnce = options.atOnce
        self.measured = measured
        self.burst = burst
        bystanders = options.bystanders
        bystanderRate = options.bystanderRate
        var (before, during) = (Latencies(), Latencies())
        if let burst, let others {
            for sample in others.samples {
                if sample.intended < burst.began {
                    before.record(sample.latency)
                } else if sample.intended <= burst.ended {
                    during.record(sample.latency)
                }
            }
        }
        bystanderBeforeMilliseconds = before.summary
        bystanderDuringMilliseconds = during.summary
        serverCPUSeconds = options.measuring.serverPid.isEmpty ? nil : serverUsed.inSeconds
        var lateness = Latencies()
        if let others { lateness.record(others.lateness) }
        bottlenecks = Bottlenecks.find(cpuShare: 0, lateness: lateness)
        failures = Self.failures(measured, burst)
        succeeded = failures.isEmpty
    }

    private static func failures(_ measured: [AccountsRun.Measured], _ burst: AccountsRun.Burst?) -> [String] {
        var found = measured.flatMap { kind in
            kind.failed.sorted { $0.key < $1.key }.map { "\(formatted($1)) of the \(kind.name) were answered \($0)" }
        }
        if let burst {
            found += burst.failed.sorted { $0.key < $1.key }.map { status, count in
                let when = status == 503 ? " without when to try again" : ""
                return "\(formatted(count)) of those who signed in at one moment were answered \(status)\(when)"
            }
            if burst.signedIn == 0 { found.append("none of the sign-ins at one moment succeeded") }
        }
        return found
    }

    var text: String {
        var lines = ["\(formatted(people)) people with accounts, \(atOnce) calls at once"]
        for kind in measured {
            let name = kind.name.padding(toLength: 12, withPad: " ", startingAt: 0)
            lines.append("  \(name) \(formatted(kind.callsPerSecond, digits: 0)) a second")
            if let latency = kind.latencyMilliseconds { lines.append("    \(latency)") }
        }
        if let burst {
            lines.append(
                "  \(formatted(burst.signIns)) sign-ins at one moment: \(formatted(burst.signedIn)) let in, "
                    + "\(formatted(burst.told)) told to try later")
            if let latency = burst.signedInMilliseconds { lines.append("    let in  \(latency)") }
            if let latency = burst.toldMilliseconds { lines.append("    told    \(latency)") }
        }
        if let latency = bystanderBeforeMilliseconds { lines.append("  others before \(latency)") }
        if let latency = bystanderDuringMilliseconds { lines.append("  others during \(latency)") }
        lines += bottlenecks.map { "  careful: \($0)" }
        return lines.joined(separator: "\n") + "\n"
    }
}
