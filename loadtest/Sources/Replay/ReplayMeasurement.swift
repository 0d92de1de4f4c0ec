/// What a replay counts and times.
struct ReplayMeasurement {
    var joins = 0
    /// Joins of people who had a connection: it was dropped without a word and another one opened.
    var lostLines = 0
    var leaves = 0
    /// Leaves without a goodbye, to be noticed by the server.
    var vanished = 0
    var renames = 0
    var messages = 0
    /// Messages of people without neighbours: nobody to type to.
    var alone = 0
    var conversations = 0
    /// Messages and marks that the server has acknowledged.
    var sent = 0
    var marks = 0
    /// Events that reached watchers.
    var events = 0
    /// Events whose change was already followed by another: shown, but not timed.
    var overtaken = 0
    /// Events that were no newer than what was shown, and so changed nothing.
    var repeated = 0

    /// Each from the moment at which it was due.
    var connecting = Latencies()
    var online = Latencies()
    var offline = Latencies()
    var renaming = Latencies()
    var typing = Latencies()
    /// To each member who is here, the sender too.
    var delivering = Latencies()
    /// By how much the tool itself was late in playing.
    var lateness = Latencies()

    /// Facts that were compared: a watcher and a person each, and every person asked for; a member's messages, and a
    /// member's marks and counts, of each conversation.
    var compared = 0
    var differences: [String] = []
    var failures: [String] = []
}
