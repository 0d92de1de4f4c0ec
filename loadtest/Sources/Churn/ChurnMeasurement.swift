/// Counts and times of a churn.
struct ChurnMeasurement {
    var arrivals = 0
    /// Arrivals that were skipped because no person was away.
    var skipped = 0
    var goodbyes = 0
    var lostLines = 0
    var returns = 0
    /// Returns that the server answered only when linger was over or nearly over: others may have seen the person
    /// offline.
    var lateReturns = 0
    /// Visits that ended before they had begun completely.
    var deferred = 0
    /// Events that reached watchers during the churn.
    var events = 0
    /// Events whose change had already been followed by another: shown, but not timed.
    var overtaken = 0
    /// Events that were not newer than the shown state, and so changed nothing.
    var repeated = 0
    /// People who lost their connection and were shown offline before their linger was over.
    var early = 0
    /// People who were shown offline although they had not disconnected.
    var flickers = 0

    /// Each measured from the moment at which it was due.
    var connecting = Latencies()
    var online = Latencies()
    var offline = Latencies()
    /// After a lost connection: linger is part of it.
    var afterLoss = Latencies()
    /// The tool's own delay.
    var lateness = Latencies()

    var seconds = 0.0
    var ownUsed: Nanoseconds = 0
    var serverUsed: Nanoseconds = 0
    var mostHere = 0
    var compared = 0
    var differences: [String] = []
    var failures: [String] = []
}
