/// Counts and times between the first measured change and the last delivery.
struct FanoutMeasurement {
    private(set) var began = Instant(nanoseconds: 0)
    private var ended = Instant(nanoseconds: 0)
    private(set) var deliveries = 0
    private(set) var conflated = 0
    /// Older changes that were shown after newer ones, which must never happen.
    var older = 0
    /// The length of the last received change that was new.
    var messageBytes = 0
    /// From the time at which a change was due to each watcher's receipt.
    private(set) var latencies = Latencies()
    /// From the time at which a change was due to the server's answer to its client.
    var acknowledged = Latencies()
    /// The tool's own delay in sending.
    private(set) var lateness = Latencies()
    /// The processor time of each process in between.
    private(set) var used = Used()
    var failures: [String] = []
    /// Deliveries with the same latency, not recorded yet: those of one read that were sent at one time.
    private var alike = (latency: Nanoseconds(0), count: 0)

    /// Processor time of the server, of its Redis, and of this tool.
    struct Used {
        var server: Nanoseconds = 0
        /// `nil` if it is not measured.
        var redis: Nanoseconds?
        var own: Nanoseconds = 0
    }

    /// The processes whose time is read.
    struct Processors {
        let server: ProcessorTime
        let redis: ProcessorTime?

        func used() -> Used { Used(server: server.used(), redis: redis?.used(), own: ProcessorTime.own()) }
    }

    mutating func begin(at instant: Instant, used: Used) {
        began = instant
        ended = instant
        self.used = used
    }

    mutating func end(used: Used) {
        self.used.server = used.server - self.used.server
        self.used.redis = used.redis.map { $0 - (self.used.redis ?? 0) }
        self.used.own = used.own - self.used.own
        record()
    }

    mutating func sent(late: Nanoseconds) { lateness.record(late) }

    mutating func delivered(after latency: Nanoseconds, conflated: Int, at instant: Instant) {
        deliveries += 1
        self.conflated += conflated
        ended = instant
        if latency != alike.latency {
            record()
            alike.latency = latency
        }
        alike.count += 1
    }

    private mutating func record() {
        if alike.count > 0 { latencies.record(alike.latency, count: alike.count) }
        alike.count = 0
    }

    /// From the first change to the last delivery.
    var duration: Nanoseconds { ended - began }
}
