import CLibEV
import Glibc

/// A thread for a function that may block. All signals are blocked in it (except those that faults raise), so they are
/// delivered to the threads that handle them.
///
/// The thread retains the captures of `body` while it runs. Call either `join` or `detach`, once; after a `join` that
/// timed out, call one of them again.
package struct QuietThread: Sendable {
    // pthread_t is a plain number, which any thread may use.
    private let thread: pthread_t

    /// - Parameter name: The system shows its first 15 bytes; `nil` inherits the name of the starting thread.
    package init(name: String?, _ body: @escaping @Sendable () -> Void) {
        var blocked = sigset_t()
        var before = sigset_t()
        sigfillset(&blocked)
        for fault in [SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF] {
            sigdelset(&blocked, fault)
        }
        pthread_sigmask(SIG_SETMASK, &blocked, &before)
        var created = pthread_t()
        let start = Start(name, body)
        // The thread takes this reference over.
        let result = pthread_create(&created, nil, runQuietThread, Unmanaged.passRetained(start).toOpaque())
        pthread_sigmask(SIG_SETMASK, &before, nil)
        precondition(result == 0, "pthread_create failed with \(result)")
        thread = created
    }

    /// Blocks until the thread has ended.
    package func join() { pthread_join(thread, nil) }

    /// Blocks until the thread has ended or the time is over. Returns whether it has ended.
    ///
    /// - Parameter end: On the monotonic clock, in µs.
    package func join(until end: Int64) -> Bool { clibev_join_thread(thread, max(0, end) * 1_000) }

    package func detach() { pthread_detach(thread) }

    /// Lowers the calling thread's priority by 5 steps of `nice`. Beside a busy thread it then gets a quarter of a
    /// core. With 10 steps it would get a tenth, too little on a busy machine to answer any request.
    package static func lowerPriority() {
        // On Linux this affects the calling thread alone (setpriority(2), "C library/kernel differences").
        let process = __priority_which_t(PRIO_PROCESS.rawValue)
        let present = getpriority(process, 0)
        _ = setpriority(process, 0, min(19, present + 5))
    }
}

/// The arguments of the new thread.
private final class Start: Sendable {
    let name: String?
    let body: @Sendable () -> Void

    init(_ name: String?, _ body: @escaping @Sendable () -> Void) {
        self.name = name
        self.body = body
    }
}

/// The thread's function: takes over the reference that `init` retained.
private func runQuietThread(_ start: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    let start = Unmanaged<Start>.fromOpaque(start!).takeRetainedValue()
    if let name = start.name { clibev_name_thread(String(decoding: name.utf8.prefix(15), as: UTF8.self)) }
    start.body()
    return nil
}
