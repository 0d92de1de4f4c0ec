import Glibc

/// The machine's monotonic clock (`CLOCK_MONOTONIC`): the only one that decides anything on a loop.
public enum MonotonicClock {
    /// Nanoseconds since an arbitrary moment, read now. About 25 ns, no system call.
    public static var nanoseconds: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// Microseconds since the same moment, read now.
    public static var microseconds: Int64 { nanoseconds / 1000 }
}
