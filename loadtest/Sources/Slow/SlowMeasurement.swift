/// The readings at both ends of a phase.
struct SlowReading {
    var at: Instant
    var serverUsed: Nanoseconds
    var ownUsed: Nanoseconds
    /// Absent without --server-pid.
    var serverMemory: ProcessMemory?
    var kernel: KernelMemory
}

/// Takes a reading.
struct SlowGauges {
    let server: ProcessorTime
    let processes: [Int32]

    func read() throws(Failure) -> SlowReading {
        SlowReading(
            at: .now(), serverUsed: server.used(), ownUsed: ProcessorTime.own(),
            serverMemory: processes.isEmpty ? nil : try ProcessMemory.read(processes), kernel: .read())
    }
}

/// Counts during changes: with all clients reading, or with some that do not.
struct SlowPhase {
    let began: SlowReading
    var ended: SlowReading?
    /// To the clients that read.
    var deliveries = 0
    var conflated = 0
    /// Latencies of watchers that are never slow.
    var latencies = Latencies()
    var lateness = Latencies()
}

/// The counts of a slow run.
struct SlowMeasurement {
    /// First with all clients reading, then with some that do not.
    var phases: [SlowPhase] = []
    var messageBytes = 0
    var older = 0
    /// For the slow clients, after they read again: deliveries, and changes that they were never shown.
    var caughtUpDeliveries = 0
    var caughtUpConflated = 0
    var catchingUp: Nanoseconds = 0
    /// Slow clients that received the newest change of everyone.
    var upToDate = 0
    /// Slow clients whose connection ended, and the first one's reason.
    var closed = 0
    var firstClosing: Closing?
    var failures: [String] = []
}
