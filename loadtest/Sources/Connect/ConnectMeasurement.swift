/// Counts and times from the first connection's dialling until the last one is ready.
struct ConnectMeasurement {
    /// Successive connections, in the order in which they became ready.
    struct Step: Codable, Equatable {
        /// The number of connections at its end.
        var connections: Int
        var seconds: Double
        var serverCPUMicrosecondsPerConnection: Double?
    }

    private(set) var connected = 0
    /// From the time at which each was due to be dialled.
    private(set) var latencies = Latencies()
    private(set) var steps: [Step] = []
    private(set) var seconds = 0.0
    private(set) var serverUsed: Nanoseconds = 0
    /// `nil` if it is not measured.
    private(set) var redisUsed: Nanoseconds?
    private(set) var ownUsed: Nanoseconds = 0
    /// How late the tool dialled, with a rate.
    var lateness = Latencies()

    private let step: Int
    private let processor: ProcessorTime
    private let redis: ProcessorTime?
    private let began: Instant
    private let serverBefore: Nanoseconds
    private let redisBefore: Nanoseconds?
    private let ownBefore = ProcessorTime.own()
    private var stepBegan: Instant
    private var stepServerBefore: Nanoseconds
    private var stepConnectedBefore = 0

    init(step: Int, processor: ProcessorTime, redis: ProcessorTime?, at instant: Instant) {
        self.step = step
        self.processor = processor
        self.redis = redis
        began = instant
        stepBegan = instant
        serverBefore = processor.used()
        stepServerBefore = serverBefore
        redisBefore = redis?.used()
    }

    mutating func connected(after latency: Nanoseconds, at instant: Instant, isLast: Bool) {
        connected += 1
        latencies.record(latency)
        guard connected % step == 0 || isLast else { return }
        let used = processor.used()
        let count = connected - stepConnectedBefore
        let cost = Double(used - stepServerBefore) / 1e3 / Double(count)
        steps.append(
            Step(
                connections: connected, seconds: (instant - stepBegan).inSeconds,
                serverCPUMicrosecondsPerConnection: processor.isEmpty ? nil : cost))
        stepBegan = instant
        stepServerBefore = used
        stepConnectedBefore = connected
        seconds = (instant - began).inSeconds
        serverUsed = used - serverBefore
        redisUsed = redis.map { $0.used() - (redisBefore ?? 0) }
        ownUsed = ProcessorTime.own() - ownBefore
    }
}
