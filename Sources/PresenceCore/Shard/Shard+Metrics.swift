import Installation
import WebSockets

/// The metrics of a shard, and of its process.
extension Shard {
    package func metrics() -> MetricsSnapshot {
        var snapshot = logic.snapshot
        snapshot.counters[.writes] = server.counters.writes
        snapshot.counters[.partialWrites] = server.counters.partialWrites
        snapshot.counters[.bytesOut] = server.counters.bytesWritten
        snapshot.gauges[.redisPending] = store.pending
        snapshot.gauges[.redisPendingBytes] = store.pendingBytes
        snapshot.gauges[.interests] = store.followed
        snapshot.gauges[.interestsPending] = store.followsPending
        snapshot.counters[.handshakeTimeouts] = server.counters.handshakeTimeouts
        snapshot.counters[.handshakesDisplaced] = server.counters.handshakesDisplaced
        snapshot.counters[.lateAnswers] = server.counters.lateAnswers
        snapshot.counters[.slowTransfers] = server.counters.slowTransfers
        snapshot.counters[.tlsHandshakes] = server.counters.tlsHandshakes
        snapshot.counters[.tlsFailures] = server.counters.tlsFailures
        snapshot.counters[.originsRefused] = sockets.originsRefused
        snapshot.gauges[.handshakes] = server.handshakeCount
        snapshot.gauges[.inboxBytes] = server.inboxHeld
        snapshot.limitsMet[.inboxBytes] = server.counters.inboxRefusals
        snapshot.gauges[.outboxBytes, default: 0] += server.answersHeld
        snapshot.limitsMet[.outboxBytes, default: 0] += server.counters.answerRefusals
        snapshot.certificateExpiry = certificateExpiry
        snapshot.redisClockOffset = clockOffset
        return snapshot
    }

    func abortTransfer(_ exchange: HTTPExchangeID) { server.abortTransfer(exchange) }

    func respondMetrics(_ exchange: HTTPExchangeID) async {
        var sum = MetricsSnapshot()
        for shard in family { sum.add(await shard.metrics()) }
        sum.workers = workers.numbers
        sum.gauges[.uploads] = transfers.uploads
        sum.gauges[.downloads] = transfers.downloads
        // Off the loop, so that a slow disk cannot block it.
        let room = await Task.detached { [path = logic.configuration.dataPath] in DiskRoom(of: path) }.value
        sum.gauges[.diskFree] = room?.free
        sum.gauges[.diskReserve] = room?.reserve
        sockets.api.respond(
            exchange,
            HTTPResponse(
                status: 200, headers: [("Content-Type", "text/plain; version=0.0.4; charset=utf-8")],
                body: Array(sum.page.utf8)))
    }
}
