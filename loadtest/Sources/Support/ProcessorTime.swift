import Glibc

/// The processor time that processes have used, by their own clocks: exact, and of all their threads.
struct ProcessorTime {
    private let clocks: [clockid_t]

    /// - Parameter processes: their ids; a process of somebody else may be asked too.
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

    /// Nanoseconds since the processes started, together; what has ended counts nothing.
    func used() -> Nanoseconds { clocks.reduce(0) { $0 + Self.read($1) } }

    /// Nanoseconds that this process has used.
    static func own() -> Nanoseconds { read(CLOCK_PROCESS_CPUTIME_ID) }

    private static func read(_ clock: clockid_t) -> Nanoseconds {
        var time = timespec()
        guard clock_gettime(clock, &time) == 0 else { return 0 }
        return Nanoseconds(time.tv_sec) * 1_000_000_000 + Nanoseconds(time.tv_nsec)
    }
}
