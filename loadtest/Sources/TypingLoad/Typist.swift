/// One participant of a conversation: their connection, whether they type, and whom they show typing.
struct Typist {
    var connection: ConnectionID?
    var isTyping = false
    /// Counts the times that they started, so that a repetition of an earlier time finds nothing to repeat.
    var time = 0
    /// When they were to start, and to stop, for the last time.
    var started: Instant?
    var stopped: Instant?
    /// The participants, by their places in the conversation, who have seen that they type now.
    var seenBy: UInt32 = 0
    /// The participants whom this one shows typing, and by which version.
    private(set) var shown: UInt32 = 0
    private var version: Int64 = -1

    /// Shows who types, if that is news; returns who has begun and who has stopped.
    mutating func show(_ typing: UInt32, version: Int64) -> (begun: UInt32, ended: UInt32)? {
        guard version > self.version else { return nil }
        self.version = version
        defer { shown = typing }
        return (typing & ~shown, shown & ~typing)
    }
}
