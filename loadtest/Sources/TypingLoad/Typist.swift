/// One participant of a conversation: their connection, whether they type, and which others they show as typing.
struct Typist {
    var connection: ConnectionID?
    var isTyping = false
    /// Counts their starts, so that a repetition planned for an earlier start has no effect.
    var time = 0
    /// When they were last due to start, and to stop.
    var started: Instant?
    var stopped: Instant?
    /// The participants, by their places in the conversation, who have seen the present typing.
    var seenBy: UInt32 = 0
    /// The participants whom this one shows as typing, and by which version.
    private(set) var shown: UInt32 = 0
    private var version: Int64 = -1

    /// Shows who types, if the version is newer. Returns who has started and who has stopped.
    mutating func show(_ typing: UInt32, version: Int64) -> (begun: UInt32, ended: UInt32)? {
        guard version > self.version else { return nil }
        self.version = version
        defer { shown = typing }
        return (typing & ~shown, shown & ~typing)
    }
}
