import Dispatch
import Foundation

/// Signals to this process, for as long as this object is kept.
///
/// From the end of `init` on none of them is missed, and none does what it does by itself any more, also after this object is
/// gone. Several objects may listen to one signal. Dispatch's own sources will not do: they are registered some time after
/// `resume`, and a signal that comes before is lost (19 of 20 that a process sent itself at once).
package final class ProcessSignals: Sendable {
    private let listener: UInt64

    /// - Parameters:
    ///   - numbers: `SIGTERM` and others that can be handled.
    ///   - handle: told of each as it comes, one after the other, on a queue of its own.
    package init(_ numbers: some Sequence<Int32>, handle: @escaping @Sendable (Int32) -> Void) {
        listener = SignalPipe.shared.add(Set(numbers), handle)
    }

    deinit { SignalPipe.shared.remove(listener) }
}

/// What handlers write and a queue reads: the number of each signal, as one byte.
///
/// @unchecked: `listeners` is used under `lock`.
private final class SignalPipe: @unchecked Sendable {
    static let shared = SignalPipe()

    private let lock = NSLock()
    private var listeners: [UInt64: (numbers: Set<Int32>, handle: @Sendable (Int32) -> Void)] = [:]
    private var lastListener: UInt64 = 0
    private let source: any DispatchSourceRead

    private init() {
        var ends: [Int32] = [-1, -1]
        // It fails only without descriptors, and then nothing else could be started.
        precondition(pipe(&ends) == 0, "no pipe for signals")
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        let received = ends[0]
        writingEnd = ends[1]
        source = DispatchSource.makeReadSource(fileDescriptor: received, queue: DispatchQueue(label: "signals"))
        source.setEventHandler { [unowned self] in
            var number: UInt8 = 0
            while read(received, &number, 1) == 1 { tell(Int32(number)) }
        }
        source.resume()
    }

    func add(_ numbers: Set<Int32>, _ handle: @escaping @Sendable (Int32) -> Void) -> UInt64 {
        lock.withLock {
            lastListener += 1
            listeners[lastListener] = (numbers, handle)
            for number in numbers { signal(number, passOn) }
            return lastListener
        }
    }

    func remove(_ listener: UInt64) {
        lock.withLock { listeners[listener] = nil }
    }

    private func tell(_ number: Int32) {
        let told = lock.withLock { listeners.values.filter { $0.numbers.contains(number) } }
        for listener in told { listener.handle(number) }
    }
}

// Unsafe: written once before a handler is there, then only read, by handlers, on whatever thread the kernel chose.
nonisolated(unsafe) private var writingEnd: Int32 = -1

/// Runs between any two instructions of any thread, and may only call what is safe there, as `write` is. A pipe that is full
/// has thousands of requests already.
private func passOn(_ number: Int32) {
    let failure = errno
    var byte = UInt8(truncatingIfNeeded: number)
    _ = write(writingEnd, &byte, 1)
    errno = failure
}
