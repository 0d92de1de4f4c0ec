import Dispatch
import Foundation

/// SIGTERM and SIGINT as a sequence of requests to stop.
///
/// From `init` on they no longer end the process by themselves; this object must live as long as it is waited for.
final class StopSignals {
    /// The signals, as they come.
    let requests: AsyncStream<Int32>
    private let sources: [any DispatchSourceSignal]

    init() {
        let (requests, continuation) = AsyncStream<Int32>.makeStream()
        self.requests = requests
        sources = [SIGTERM, SIGINT].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { continuation.yield(number) }
            source.resume()
            return source
        }
    }
}
