import Dispatch
import Foundation
import ProcessSignals

/// Input from the terminal, and signals to this process.
package enum TerminalEvent: Hashable, Sendable {
    case keys([UInt8])
    case resized
    /// Ctrl-Z: the process should stop.
    case suspend
    /// The process was resumed.
    case resumed
    /// The process should end because of this signal.
    case stop(Int32)
    /// The terminal was closed.
    case hangup
}

/// Keys and signals as one sequence. They are received from `init` until this object is released.
package final class TerminalEvents {
    package let events: AsyncStream<TerminalEvent>
    private let signals: ProcessSignals
    private let keys: (any DispatchSourceRead)?

    /// - Parameter descriptor: the terminal's, which must stay open; `nil` to receive only signals that end the
    ///   process.
    package init(reading descriptor: Int32?) {
        let (events, continuation) = AsyncStream<TerminalEvent>.makeStream()
        self.events = events
        var meanings: [Int32: TerminalEvent] = [SIGINT: .stop(SIGINT), SIGTERM: .stop(SIGTERM)]
        if descriptor != nil {
            meanings[SIGQUIT] = .stop(SIGQUIT)
            meanings[SIGHUP] = .hangup
            meanings[SIGWINCH] = .resized
            meanings[SIGTSTP] = .suspend
            meanings[SIGCONT] = .resumed
        }
        signals = ProcessSignals(meanings.keys) { [meanings] number in
            if let event = meanings[number] { continuation.yield(event) }
        }
        keys = descriptor.map { descriptor in
            let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: .global())
            source.setEventHandler {
                var bytes = [UInt8](repeating: 0, count: 256)
                let count = read(descriptor, &bytes, bytes.count)
                if count > 0 {
                    continuation.yield(.keys(Array(bytes[..<count])))
                } else if count == 0 || (errno != EINTR && errno != EAGAIN) {
                    continuation.yield(.hangup)
                    continuation.finish()
                }
            }
            source.resume()
            return source
        }
    }

    deinit { keys?.cancel() }
}
