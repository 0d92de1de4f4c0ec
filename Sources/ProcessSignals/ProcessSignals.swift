import Dispatch
import Foundation

/// Receives signals to this process, for as long as this object is kept.
///
/// After `init` no signal is missed, and none has its default effect, even after this object is released. Several
/// objects may listen to one signal. Dispatch's own sources do not suffice: they are registered some time after
/// `resume`, and a signal that arrives earlier is lost (19 of 20 that a process sent to itself at once).
package final class ProcessSignals: Sendable {
    private let listener: UInt64

    /// - Parameters:
    ///   - numbers: `SIGTERM` and others that can be handled.
    ///   - handle: called for each signal in its order, on a queue of its own.
    package init(_ numbers: some Sequence<Int32>, handle: @escaping @Sendable (Int32) -> Void) {
        listener = SignalPipe.shared.add(Set(numbers), handle)
    }

    deinit { SignalPipe.shared.remove(listener) }
}

/// The pipe that handlers write to and a queue reads from: the number of each signal, as one byte.
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
        // pipe(2) fails only without free descriptors, and then nothing else could start either.
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
            while read(received, &number, 1) == 1 { notify(Int32(number)) }
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

    private func notify(_ number: Int32) {
        let told = lock.withLock { listeners.values.filter { $0.numbers.contains(number) } }
        for listener in told { listener.handle(number) }
    }
}

// Unsafe: written once before a handler is installed, then only read, by handlers, on any thread.
nonisolated(unsafe) private var writingEnd: Int32 = -1

/// May interrupt any thread between two instructions, so it calls only async-signal-safe functions such as `write`. A
/// full pipe already has thousands of signals waiting.
private func passOn(_ number: Int32) {
    let failure = errno
    var byte = UInt8(truncatingIfNeeded: number)
    _ = write(writingEnd, &byte, 1)
    errno = failure
}
