import Glibc

/// The processor time of processes, by their own clocks: exact, and for all their threads.
struct ProcessorTime {
    private let clocks: [clockid_t]

    /// - Parameter processes: their ids; processes of other users are possible.
    init(processes: [Int32]) throws(Failure) {
        var clocks: [clockid_t] = []
        for process in processes {
            var clock = clockid_t()
            let status = clock_getcpuclockid(process, &clock)
            guard status == 0 else { throw Failure("there is no process \(process) to measure") }
            clocks.append(clock)
        }
        self.clocks = clocks
    }

    /// No process is measured.
    var isEmpty: Bool { clocks.isEmpty }

    /// Nanoseconds since the processes started, together; ended ones count nothing.
    func used() -> Nanoseconds { clocks.reduce(0) { $0 + Self.read($1) } }

    /// Nanoseconds that this process has used.
    static func own() -> Nanoseconds { read(CLOCK_PROCESS_CPUTIME_ID) }

    private static func read(_ clock: clockid_t) -> Nanoseconds {
        var time = timespec()
        guard clock_gettime(clock, &time) == 0 else { return 0 }
        return Nanoseconds(time.tv_sec) * 1_000_000_000 + Nanoseconds(time.tv_nsec)
    }
}
