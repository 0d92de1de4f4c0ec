/// The work for every message that a watcher receives, in one place. A millisecond for each thousand of them would be
/// the tool's, so all of it is one value that is entered once a message.
struct FanoutReceipts {
    var broadcast: Broadcast
    var measurement = FanoutMeasurement()
    /// Whether receipts are timed.
    var isMeasuring = false
    /// When a watcher last received a new change.
    private(set) var latest = Instant(nanoseconds: 0)
    private var cache = ChangeCache()
    /// Smaller tags are not watchers.
    private let firstWatcher: Int

    init(_ broadcast: Broadcast, firstWatcher: Int) {
        self.broadcast = broadcast
        self.firstWatcher = firstWatcher
    }

    /// Handles a known message; false if it is not known.
    mutating func receive(_ message: UnsafeRawBufferPointer, tag: Int, at: Instant) -> Bool {
        guard let change = cache.find(message) else { return false }
        see(change, tag: tag, at: at)
        return true
    }

    /// Handles the meanings of an unknown message. Remembers it if it is one change or none.
    mutating func learn(_ message: UnsafeRawBufferPointer, _ meanings: [Incoming], tag: Int, at: Instant) {
        if meanings.isEmpty { cache.remember(message, as: ChangeCache.nothing) }
        for case .change(let change) in meanings {
            measurement.messageBytes = message.count
            if meanings.count == 1 { cache.remember(message, as: change) }
            see(change, tag: tag, at: at)
        }
    }

    private mutating func see(_ change: NumberedChange, tag: Int, at: Instant) {
        guard change != ChangeCache.nothing, tag >= firstWatcher,
            let receipt = broadcast.see(change, by: tag - firstWatcher, at: at)
        else { return }
        latest = at
        guard isMeasuring else { return }
        measurement.delivered(after: receipt.latency, conflated: receipt.conflated, at: at)
    }
}
