import PresenceProtocol

extension ConnectionLimits {
    /// Splits `ids` into parts that fit into one message, by number and by bytes.
    func batches(of ids: [Identifier], bytes: (Identifier) -> Int) -> [[Identifier]] {
        let room = maxMessageBytes - 256
        var batches: [[Identifier]] = []
        var batch: [Identifier] = []
        var used = 0
        for id in ids {
            let size = bytes(id)
            if !batch.isEmpty, batch.count == subscribeBatch || used + size > room {
                batches.append(batch)
                batch = []
                used = 0
            }
            batch.append(id)
            used += size
        }
        if !batch.isEmpty { batches.append(batch) }
        return batches
    }
}

extension Identifier {
    /// The maximum size in a message, where quotes and backslashes are escaped.
    var longestBytes: Int { string.utf8.count * 2 + 3 }
}
