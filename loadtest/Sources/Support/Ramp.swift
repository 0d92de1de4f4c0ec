/// Opens connections at a steady rate, and never more at once than a server's backlog holds.
struct Ramp {
    let total: Int
    /// Connections a second; 0 is as fast as they are answered.
    let rate: Double
    private(set) var begun = 0
    private var start: Instant?
    /// The connection that was due at `start`.
    private var first = 0

    /// The most handshakes in progress: beyond a listening socket's backlog the kernel makes clients wait a second.
    static let atOnce = 256
    private let atOnce: Int

    init(total: Int, rate: Double, atOnce: Int = atOnce) {
        self.total = total
        self.rate = rate
        self.atOnce = atOnce
    }

    /// The numbers of the connections to open now, given the number of ready ones.
    /// - Parameter limit: no connection with this number or a larger one.
    mutating func due(now: Instant, ready: Int, upTo limit: Int = .max) -> Range<Int> {
        let start = self.start ?? now
        self.start = start
        let allowed = rate > 0 ? first + Int((now - start).inSeconds * rate) + 1 : total
        let end = max(begun, min(total, limit, allowed, ready + atOnce))
        defer { begun = end }
        return begun..<end
    }

    /// Restarts the clock of the rate.
    mutating func restart(now: Instant) {
        start = now
        first = begun
    }

    /// When a connection was due by the rate; `nil` without one.
    func intended(_ number: Int) -> Instant? {
        start.flatMap { rate > 0 ? $0 + .seconds(Double(number - first) / rate) : nil }
    }

    /// When the next one is due by the rate; `nil` if none is, or if it must wait for an answer.
    func next(now: Instant) -> Instant? {
        guard let start, begun < total, rate > 0 else { return nil }
        let due = start + .seconds(Double(begun - first) / rate)
        return due > now ? due : nil
    }
}
