import EventLoops

/// The console's state that all shards of a server share.
final class ConsoleState: Sendable {
    let ends = SessionEnds()
    /// All traces, by subject. The shard that created a trace receives its events.
    let traces = Locked<[String: Trace]>([:])
    /// The last run of the doctor.
    let doctor = Locked(Console.Run.none)
}
