import Dispatch
import Foundation

/// Signals as a sequence of requests: SIGTERM and SIGINT to stop, SIGHUP to reload (or to stop, see ``Terminal``).
///
/// From the end of `init` on none of them is missed, and they no longer end the process by themselves; this object must live
/// as long as it is waited for. There is one in a process.
///
/// (Dispatch's own sources of signals are registered some time later: a signal that came before was ignored.)
final class Signals {
    /// The signals, as they come.
    let requests: AsyncStream<Int32>
    private let source: any DispatchSourceRead

    init(_ numbers: Int32...) {
        let (requests, continuation) = AsyncStream<Int32>.makeStream()
        self.requests = requests
        var ends: [Int32] = [-1, -1]
        // It fails only without descriptors, and then nothing else could be started.
        precondition(pipe(&ends) == 0, "no pipe for signals")
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        let received = ends[0]
        signalPipe = ends[1]
        source = DispatchSource.makeReadSource(fileDescriptor: received, queue: .global())
        source.setEventHandler {
            var number: UInt8 = 0
            while read(received, &number, 1) == 1 { continuation.yield(Int32(number)) }
        }
        source.resume()
        for number in numbers { signal(number, passOn) }
    }
}

// Unsafe: written once before a handler is there, then only read, by handlers, on whatever thread the kernel chose.
nonisolated(unsafe) private var signalPipe: Int32 = -1

/// Runs between any two instructions of any thread: it may only call what is safe there, as `write` is. A full pipe has
/// thousands of requests already.
private func passOn(_ number: Int32) {
    let failure = errno
    var byte = UInt8(truncatingIfNeeded: number)
    _ = write(signalPipe, &byte, 1)
    errno = failure
}
