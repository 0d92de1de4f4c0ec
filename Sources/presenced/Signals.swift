import Dispatch
import Foundation

/// Signals as a sequence of requests: SIGTERM and SIGINT to stop, SIGHUP to reload (or to stop, see ``Terminal``).
///
/// From `init` on they no longer end the process by themselves; this object must live as long as it is waited for.
final class Signals {
    /// The signals, as they come.
    let requests: AsyncStream<Int32>
    private let sources: [any DispatchSourceSignal]

    init(_ numbers: Int32...) {
        let (requests, continuation) = AsyncStream<Int32>.makeStream()
        self.requests = requests
        sources = numbers.map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { continuation.yield(number) }
            source.resume()
            return source
        }
    }
}
