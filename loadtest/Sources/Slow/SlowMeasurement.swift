/// What is read at the ends of a phase.
struct SlowReading {
    var at: Instant
    var serverUsed: Nanoseconds
    var ownUsed: Nanoseconds
    /// Absent without --server-pid.
    var serverMemory: ProcessMemory?
    var kernel: KernelMemory
}

/// Reads it.
struct SlowGauges {
    let server: ProcessorTime
    let processes: [Int32]

    func read() throws(Failure) -> SlowReading {
        SlowReading(
            at: .now(), serverUsed: server.used(), ownUsed: ProcessorTime.own(),
            serverMemory: processes.isEmpty ? nil : try ProcessMemory.read(processes), kernel: .read())
    }
}

/// What is counted while changes go on: with everybody reading, or with some who do not.
struct SlowPhase {
    let began: SlowReading
    var ended: SlowReading?
    /// To the clients that read.
    var deliveries = 0
    var conflated = 0
    /// Of those who are never slow.
    var latencies = Latencies()
    var lateness = Latencies()
}

/// What a slow run counts.
struct SlowMeasurement {
    /// With everybody reading, and with some who do not.
    var phases: [SlowPhase] = []
    var messageBytes = 0
    var older = 0
    /// Of the slow, after they read again: deliveries, and changes that they were never shown.
    var caughtUpDeliveries = 0
    var caughtUpConflated = 0
    var catchingUp: Nanoseconds = 0
    /// Slow ones who came to hold the newest of everybody.
    var upToDate = 0
    /// Slow ones whose connection ended, and how that of the first did.
    var closed = 0
    var firstClosing: Closing?
    var failures: [String] = []
}
