/// When the server was last heard, when it is asked for a sign of life, and when it is given up.
struct Heartbeat: Hashable, Sendable {
    /// How often the server says something at least.
    private var interval = Duration.seconds(20)
    private(set) var timeout = Duration.seconds(10)
    /// The uptime at which anything last came from the server.
    private(set) var lastHeard = Duration.zero
    /// Whether the server was asked for a sign of life since.
    private var hasPinged = false

    /// The uptime at which a silent connection is given up.
    var death: Duration { lastHeard + interval + timeout }

    private var pingDue: Duration { lastHeard + interval + timeout / 2 }

    var nextDeadline: Duration { hasPinged ? death : pingDue }

    /// A connection begins: the server says how often it can be heard.
    mutating func begin(interval: Duration, timeout: Duration) {
        self.interval = interval
        self.timeout = timeout
        hasPinged = false
    }

    mutating func hear(at uptime: Duration) {
        lastHeard = uptime
        hasPinged = false
    }

    /// Whether to ask for a sign of life now.
    mutating func ping(at uptime: Duration) -> Bool {
        guard !hasPinged, pingDue <= uptime else { return false }
        hasPinged = true
        return true
    }

    /// The connection is gone.
    mutating func end() {
        hasPinged = false
    }
}
