/// Limits the bytes of answers that wait for slow clients, by a budget that the servers of all loops share.
extension WebSocketServer {
    /// A longer body, in bytes, is sent only if the budget has room for it. Shorter ones, and pieces from sources, are
    /// counted and always sent: the number of connections limits them, and a server under load still answers health
    /// checks.
    static let freeAnswer = 64 * 1024

    /// Returns `response`; or 503 if it is long and too many bytes wait already, for all clients together or for the
    /// address of its client.
    func admitted(_ response: HTTPResponse, _ http: HTTPConnection) -> HTTPResponse {
        let size = response.body.count
        guard size > Self.freeAnswer, !http.isHead else { return response }
        guard let share = configuration.answers.reserve(size, for: http.client) else {
            counters.answerRefusals += 1
            response.source?.close()
            var refusal = configuration.errorResponse(
                503, "too much waits for clients that read slowly: try again later")
            refusal.headers.append(("Retry-After", "1"))
            return refusal
        }
        http.share = share
        http.waiting += size
        answersHeld += size
        return response
    }

    /// Counts the output until all of it is written: it is one array, which is freed as a whole.
    func countOutput(_ http: HTTPConnection) {
        let waiting = http.written < http.output.count ? http.output.count : 0
        if waiting == 0 { http.share = nil }
        let more = waiting - http.waiting
        guard more != 0 else { return }
        http.waiting = waiting
        answersHeld += more
        configuration.answers.all.add(more)
    }
}
