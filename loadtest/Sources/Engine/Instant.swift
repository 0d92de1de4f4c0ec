import Glibc

/// A length of time in nanoseconds.
typealias Nanoseconds = Int64

extension Nanoseconds {
    static func seconds(_ seconds: Double) -> Nanoseconds { Nanoseconds(seconds * 1e9) }
    static func milliseconds(_ milliseconds: Double) -> Nanoseconds { Nanoseconds(milliseconds * 1e6) }

    var inSeconds: Double { Double(self) / 1e9 }
}

/// A point on the monotonic clock, which is the same for every process of the machine.
struct Instant: Comparable, Hashable {
    /// Nanoseconds since the machine started.
    var nanoseconds: Int64

    static func now() -> Instant {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Instant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    static func < (a: Instant, b: Instant) -> Bool { a.nanoseconds < b.nanoseconds }
    static func - (a: Instant, b: Instant) -> Nanoseconds { a.nanoseconds - b.nanoseconds }
    static func + (a: Instant, b: Nanoseconds) -> Instant { Instant(nanoseconds: a.nanoseconds + b) }
}
