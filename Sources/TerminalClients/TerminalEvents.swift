import Dispatch
import Foundation

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
    private let sources: [any DispatchSourceProtocol]

    /// - Parameter descriptor: of the terminal, or `nil` for nothing but signals to end. It must stay open meanwhile.
    package init(reading descriptor: Int32?) {
        let (events, continuation) = AsyncStream<TerminalEvent>.makeStream()
        self.events = events
        var signals: [(Int32, TerminalEvent)] = [SIGINT, SIGTERM].map { ($0, .stop($0)) }
        if descriptor != nil {
            signals += [
                (SIGQUIT, .stop(SIGQUIT)), (SIGHUP, .hangup), (SIGWINCH, .resized), (SIGTSTP, .suspend),
                (SIGCONT, .resumed),
            ]
        }
        var sources: [any DispatchSourceProtocol] = signals.map { number, event in
            // Else it would do what it does by itself, besides.
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { continuation.yield(event) }
            source.resume()
            return source
        }
        if let descriptor {
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
            sources.append(source)
        }
        self.sources = sources
    }

    deinit { sources.forEach { $0.cancel() } }
}
