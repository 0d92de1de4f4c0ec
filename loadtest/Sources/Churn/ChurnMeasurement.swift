/// What a churn counts and times.
struct ChurnMeasurement {
    var arrivals = 0
    /// Arrivals for which nobody was away.
    var skipped = 0
    var goodbyes = 0
    var lostLines = 0
    var returns = 0
    /// Returns that the server answered only when linger was over or nearly so: others may have seen them go.
    var lateReturns = 0
    /// Visits that were over before they had begun in full.
    var deferred = 0
    /// Events that reached watchers while people came and went.
    var events = 0
    /// Events whose change was already followed by another: shown, but not timed.
    var overtaken = 0
    /// Events that were no newer than what was shown, and so changed nothing.
    var repeated = 0
    /// People shown to go who had lost their line and whose linger was not over.
    var early = 0
    /// People shown to go who never went.
    var flickers = 0

    /// Each from the moment at which it was due.
    var connecting = Latencies()
    var online = Latencies()
    var offline = Latencies()
    /// Of lost lines: linger is part of it.
    var afterLoss = Latencies()
    /// By how much the tool itself was late.
    var lateness = Latencies()

    var seconds = 0.0
    var ownUsed: Nanoseconds = 0
    var serverUsed: Nanoseconds = 0
    var mostHere = 0
    var compared = 0
    var differences: [String] = []
    var failures: [String] = []
}
