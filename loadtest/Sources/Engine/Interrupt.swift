import Glibc

/// Ctrl-C and SIGTERM as a readable descriptor: a pipe that their handler writes to. A second signal ends the process
/// immediately.
struct Interrupt {
    static let shared = Interrupt()

    /// Readable after a signal.
    let descriptor: Int32

    private init() {
        var ends: [Int32] = [-1, -1]
        precondition(pipe(&ends) == 0, "no pipe: \(Failure.reason())")
        for end in ends { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
        descriptor = ends[0]
        interruptPipe = ends[1]
        for number in [SIGINT, SIGTERM] {
            signal(number) { number in
                // Only functions that a signal handler may call: write and signal.
                var mark: UInt8 = 0
                write(interruptPipe, &mark, 1)
                signal(number, SIG_DFL)
            }
        }
    }

    /// Empties the pipe.
    func drain() {
        var mark: UInt8 = 0
        while read(descriptor, &mark, 1) > 0 {}
    }
}

/// Written once, before the handlers that read it are set; open during the process' life.
nonisolated(unsafe) private var interruptPipe: Int32 = -1
