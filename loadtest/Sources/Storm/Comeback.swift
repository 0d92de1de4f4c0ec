import PresenceProtocol

/// When a client that lost its connection reconnects: by the protocol and as PresenceKit does, with its times.
///
/// A time from the server is kept exactly, since the server spreads its clients.
struct Comeback {
    private var backoff = ReconnectBackoff(base: .milliseconds(500), cap: .seconds(30))

    mutating func connected(at instant: Instant, linger: Milliseconds) {
        backoff.connected(at: instant.uptime, linger: .milliseconds(linger))
    }

    /// The time to wait after `closing`; `nil` if the client must not reconnect.
    mutating func wait(after closing: Closing, now: Instant, random: inout SeededRandom) -> Nanoseconds? {
        backoff.failed(at: now.uptime)
        if case .closed(let code?, let reason) = closing {
            switch code {
            case 1003, 1007, 1008, 1009, 4001, 4002, 4003, 4004, 4006: return nil
            case 1012, 1013:
                if let advice = ReconnectAdvice.decode(Array(reason.utf8)) {
                    return .milliseconds(Double(advice.reconnectAfter))
                }
            default: break
            }
        }
        let wait = backoff.wait(at: now.uptime, random: random.unit()).components
        return wait.seconds * 1_000_000_000 + wait.attoseconds / 1_000_000_000
    }
}

extension Instant {
    fileprivate var uptime: Duration { .nanoseconds(nanoseconds) }
}
