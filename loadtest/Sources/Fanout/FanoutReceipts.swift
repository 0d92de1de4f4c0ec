/// What is done for every message that a watcher gets, in one place: a millisecond for each thousand of them is the
/// tool's, so all of it is one value that is entered once a message.
struct FanoutReceipts {
    var broadcast: Broadcast
    var measurement = FanoutMeasurement()
    /// Receipts are timed.
    var isMeasuring = false
    /// When somebody last got something new.
    private(set) var latest = Instant(nanoseconds: 0)
    private var cache = ChangeCache()
    /// Tags below are not watchers.
    private let firstWatcher: Int

    init(_ broadcast: Broadcast, firstWatcher: Int) {
        self.broadcast = broadcast
        self.firstWatcher = firstWatcher
    }

    /// Takes a message that is known; false if it is not.
    mutating func take(_ message: UnsafeRawBufferPointer, tag: Int, at: Instant) -> Bool {
        guard let change = cache.find(message) else { return false }
        see(change, tag: tag, at: at)
        return true
    }

    /// Takes what a message means that was not known, and knows it from now on if it is one change or nothing at all.
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
