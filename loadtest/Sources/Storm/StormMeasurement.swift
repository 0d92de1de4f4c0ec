/// What is counted and timed from the restart until everyone shows the truth.
struct StormMeasurement {
    var restarted = Instant(nanoseconds: 0)
    /// The restart command returned.
    var serving: Instant?
    /// The last client was back, connected and subscribed.
    var allBack: Instant?
    /// Everyone showed everyone as online, for the last time.
    var allRight: Instant?
    var counted = Counters()
    /// Connections by how they ended.
    var endings: [String: Int] = [:]
    var dialled = 0
    /// Requests that the server refused for a while, having no sight of its store.
    var unavailable = 0
    /// Times that a client was told that what it shows may be old.
    var stale = 0
    /// From the restart to each client's being back.
    var back = Latencies()
    /// From the moment at which a client was to dial until it was back.
    var comeback = Latencies()
    /// By how much the tool dialled later than it was to.
    var lateness = Latencies()
    /// Of each server, before the restart, when the command returned, and at the end of the storm.
    var before: [ServerMetrics] = []
    var atServing: [ServerMetrics] = []
    var after: [ServerMetrics] = []
    /// Of the clients who show what is true at the end.
    var right = 0
    var lost = 0
    var failures: [String] = []

    /// What the clients received, and what it cost them.
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
