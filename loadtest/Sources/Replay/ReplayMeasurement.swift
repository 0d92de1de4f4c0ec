/// Counts and times of a replay.
struct ReplayMeasurement {
    var joins = 0
    /// Joins of people who had a connection: it was dropped without a close, and another one opened.
    var lostLines = 0
    var leaves = 0
    /// Leaves without a close, which the server must notice.
    var vanished = 0
    var renames = 0
    var messages = 0
    /// Messages of people without neighbours, which have no recipient.
    var alone = 0
    var conversations = 0
    /// Messages and marks that the server has acknowledged.
    var sent = 0
    var marks = 0
    /// Events that reached watchers.
    var events = 0
    /// Events whose change had already been followed by another: shown, but not timed.
    var overtaken = 0
    /// Events that were not newer than the shown state, and so changed nothing.
    var repeated = 0

    /// Each measured from the moment at which it was due.
    var connecting = Latencies()
    var online = Latencies()
    var offline = Latencies()
    var renaming = Latencies()
    var typing = Latencies()
    /// To each connected member, the sender included.
    var delivering = Latencies()
    /// The tool's own delay in playing.
    var lateness = Latencies()

    /// Compared facts: each pair of a watcher and a person, and each person of the last `get`; for each conversation a
    /// member's messages, and a member's marks and counts.
    var compared = 0
    var differences: [String] = []
    var failures: [String] = []
}
