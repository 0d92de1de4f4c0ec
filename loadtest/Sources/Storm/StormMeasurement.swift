/// Counts and times from the restart until all clients show the truth.
struct StormMeasurement {
    var restarted = Instant(nanoseconds: 0)
    /// The restart command returned.
    var serving: Instant?
    /// The last client was back, connected and subscribed.
    var allBack: Instant?
    /// All clients showed all others as online, for the last time.
    var allRight: Instant?
    var counted = Counters()
    /// Connections by how they ended.
    var endings: [String: Int] = [:]
    var dialled = 0
    /// Requests that the server rejected for a while, because it could not reach its store.
    var unavailable = 0
    /// Times that a client was notified of stale data.
    var stale = 0
    /// From the restart until each client was back.
    var back = Latencies()
    /// From the time at which a client was due to dial until it was back.
    var comeback = Latencies()
    /// The tool's own delay in dialling.
    var lateness = Latencies()
    /// For each server: before the restart, when the command returned, and at the end of the storm.
    var before: [ServerMetrics] = []
    var atServing: [ServerMetrics] = []
    var after: [ServerMetrics] = []
    /// Clients that show the truth at the end.
    var right = 0
    var lost = 0
    var failures: [String] = []

    /// The messages that the clients received, and the tool's cost of reading them.
    struct Counters {
        var reads = 0
        var messages = 0
        var events = 0
        var used: Nanoseconds = 0

        static func - (a: Counters, b: Counters) -> Counters {
            Counters(
                reads: a.reads - b.reads, messages: a.messages - b.messages, events: a.events - b.events,
                used: a.used - b.used)
        }
    }
}
