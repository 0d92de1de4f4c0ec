import Dispatch
import Foundation
import ProcessSignals

/// What comes from the terminal, and signals to this process.
package enum TerminalEvent: Hashable, Sendable {
    case keys([UInt8])
    case resized
    /// Ctrl-Z: to be stopped.
    case suspend
    /// Going on after having been stopped.
    case resumed
    /// To end, by this signal.
    case stop(Int32)
    /// The terminal is gone.
    case hangup
}

/// Keys and signals as one sequence. They are taken from `init` on, as long as this object lives.
package final class TerminalEvents {
    package let events: AsyncStream<TerminalEvent>
    private let signals: ProcessSignals
    private let keys: (any DispatchSourceRead)?

    /// - Parameter descriptor: of the terminal, or `nil` for nothing but signals to end. It must stay open meanwhile.
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
