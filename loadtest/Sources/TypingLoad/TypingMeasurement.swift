/// What is counted and timed while people type.
struct TypingMeasurement {
    var starts = 0
    var stops = 0
    /// Times that somebody said again that they type.
    var repetitions = 0
    /// Events that reached participants.
    var events = 0
    /// Events that were no newer than what was shown.
    var repeated = 0
    /// Participants shown to have stopped who went on typing.
    var dropouts = 0
    /// From when somebody was to start, or stop, to each participant's seeing it; they themselves included.
    var starting = Latencies()
    var stopping = Latencies()
    /// By how much the tool itself was late.
    var lateness = Latencies()
    var seconds = 0.0
    var ownUsed: Nanoseconds = 0
    var serverUsed: Nanoseconds = 0
    var failures: [String] = []
}
