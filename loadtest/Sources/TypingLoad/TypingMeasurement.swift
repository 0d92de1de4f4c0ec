/// Counts and times while people type.
struct TypingMeasurement {
    var starts = 0
    var stops = 0
    /// Times that a person repeated that they type.
    var repetitions = 0
    /// Events that reached participants.
    var events = 0
    /// Events that were not newer than the shown state.
    var repeated = 0
    /// Participants who were shown to have stopped but still typed.
    var dropouts = 0
    /// From the time at which a person was due to start or stop until each participant, themselves included, saw it.
    var starting = Latencies()
    var stopping = Latencies()
    /// The tool's own delay.
    var lateness = Latencies()
    var seconds = 0.0
    var ownUsed: Nanoseconds = 0
    var serverUsed: Nanoseconds = 0
    var failures: [String] = []
}
