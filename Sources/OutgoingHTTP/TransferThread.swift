import CCurl
import EventLoops

/// The client's thread: passes orders to libcurl, and outcomes to the senders.
///
/// Confined to that thread, which creates, runs and releases it.
final class TransferThread {
    private let queue: TransferQueue
    private let multi: UnsafeMutableRawPointer
    private let userAgent: String?
    private var transfers: [UInt64: Transfer] = [:]
    /// The transfers' numbers, by the handles that libcurl uses.
    private var byHandle: [UnsafeMutableRawPointer: UInt64] = [:]

    /// The longest that it sleeps, in ms. libcurl wakes it up for its own deadlines.
    private static let longestSleep: Int64 = 60_000

    init(_ queue: TransferQueue, userAgent: String?) {
        self.queue = queue
        self.userAgent = userAgent
        multi = queue.multi
        // Idle connections count too: libcurl closes the oldest of them for a new one.
        ccurl_multi_set_long(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, queue.mostRunning)
    }

    func run() {
        while true {
            let now = MonotonicClock.microseconds
            let orders = queue.take(now: now)
            for number in orders.cancels { end(number, .failure(.cancelled)) }
            for entry in orders.expired { deliver(entry, .failure(.overloaded(retryAfter: orders.retryAfter))) }
            for entry in orders.starts { start(entry, now) }
            // Ended transfers have made room, which other entries may use.
            guard orders.cancels.isEmpty, orders.expired.isEmpty else { continue }
            if let stopAt = orders.stopAt, stopAt <= now || orders.isEmpty && transfers.isEmpty { break }
            var running: Int32 = 0
            curl_multi_perform(multi, &running)
            guard !finish() else { continue }
            let next = min(orders.stopAt ?? .max, orders.nextEnd ?? .max, now + Self.longestSleep * 1_000)
            let sleep = max(0, min(Self.longestSleep, (next - now + 999) / 1_000))
            curl_multi_poll(multi, nil, 0, Int32(sleep), nil)
        }
        for number in transfers.keys.sorted() { end(number, .failure(.stopped)) }
        for entry in queue.drop() { deliver(entry, .failure(.stopped)) }
        queue.closed()
        curl_multi_cleanup(multi)
    }

    private func start(_ entry: TransferQueue.Entry, _ now: Int64) {
        guard let transfer = Transfer(entry, of: queue, userAgent: userAgent, now: now) else {
            return deliver(entry, .failure(.invalid("libcurl rejects it")))
        }
        transfers[entry.number] = transfer
        byHandle[transfer.easy] = entry.number
        guard curl_multi_add_handle(multi, transfer.easy) == CURLM_OK else {
            return end(entry.number, .failure(.other(CURLE_OUT_OF_MEMORY.rawValue)))
        }
    }

    /// Handles finished transfers. Returns whether there were any, because there may then be room for further ones.
    private func finish() -> Bool {
        var code = CURLE_OK
        var isAny = false
        while let easy = ccurl_multi_finished(multi, &code) {
            isAny = true
            guard let number = byHandle[easy], let transfer = transfers[number] else { continue }
            end(number, transfer.result(code))
        }
        return isAny
    }

    private func end(_ number: UInt64, _ result: Result<OutgoingResponse, OutgoingFailure>) {
        // The transfer may have ended before its cancellation arrived.
        guard let transfer = transfers.removeValue(forKey: number) else { return }
        byHandle[transfer.easy] = nil
        transfer.hangUp()
        curl_multi_remove_handle(multi, transfer.easy)
        transfer.free()
        deliver(transfer.entry, result)
    }

    private func deliver(_ entry: TransferQueue.Entry, _ result: Result<OutgoingResponse, OutgoingFailure>) {
        var failure: OutgoingFailure?
        if case .failure(let reason) = result { failure = reason }
        // Counts the transfer before delivering it, so that its sender finds it in the metrics.
        queue.ended(entry.number, failure)
        // A cancelled request delivers nothing.
        if failure != .cancelled { entry.deliver(result) }
    }
}
