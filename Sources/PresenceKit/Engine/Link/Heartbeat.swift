/// The times of the last sign of life, of the next ping, and of the timeout.
struct Heartbeat: Hashable, Sendable {
    /// The maximum time between two messages of the server.
    private var interval = Duration.seconds(20)
    private(set) var timeout = Duration.seconds(10)
    /// The uptime at which anything last arrived from the server.
    private(set) var lastHeard = Duration.zero
    /// Whether a ping was sent since `lastHeard`.
    private var hasPinged = false

    /// The uptime at which a silent connection counts as lost.
    var death: Duration { lastHeard + interval + timeout }

    private var pingDue: Duration { lastHeard + interval + timeout / 2 }

    var nextDeadline: Duration { hasPinged ? death : pingDue }

    /// A connection begins; the server has announced its heartbeat interval.
    mutating func begin(interval: Duration, timeout: Duration) {
        self.interval = interval
        self.timeout = timeout
        hasPinged = false
    }

    mutating func receive(at uptime: Duration) {
        lastHeard = uptime
        hasPinged = false
    }

    /// Whether to send a ping now.
    mutating func ping(at uptime: Duration) -> Bool {
        guard !hasPinged, pingDue <= uptime else { return false }
        hasPinged = true
        return true
    }

    /// The connection has ended.
    mutating func end() {
        hasPinged = false
    }
}
