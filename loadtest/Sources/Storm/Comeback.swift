import PresenceProtocol

/// When a client that lost its connection comes back: as the protocol asks and PresenceKit does.
///
/// Where the server names a time it is kept exactly, since the server spreads its clients. Otherwise the wait is drawn
/// evenly from nothing up to a bound that doubles from failure to failure.
struct Comeback {
    /// The bounds of the first wait and of all.
    static let base: Nanoseconds = .seconds(1)
    static let cap: Nanoseconds = .seconds(30)
    /// A connection that lasted so long ends the counting of failures.
    static let lasting: Nanoseconds = .seconds(5)

    private var failures: UInt8 = 0
    private var connected: Instant?

    mutating func connected(at instant: Instant) { connected = instant }

    /// How long to wait after `closing`; `nil` if the server wants this client never again.
    mutating func wait(after closing: Closing, now: Instant, random: inout SeededRandom) -> Nanoseconds? {
        if let connected, now - connected >= Self.lasting { failures = 0 }
        connected = nil
        failures = min(failures + 1, 40)
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
        let bound = failures > 5 ? Self.cap : min(Self.cap, Self.base << (failures - 1))
        return Nanoseconds(Double(bound) * random.unit())
    }
}
