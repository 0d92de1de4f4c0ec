import EventLoops
import Logging
import PresenceCore
import WebSockets

/// What libwebsockets complains of, which has no other way out: handshakes of TLS that a fault of its own ends, for one.
enum LibraryErrors {
    /// From now on the process logs them, at most one a second: clients may bring them about.
    static func log(to logger: Logger) {
        let sparse = Locked(SparseLog())
        LibWebSockets.onError { line in
            let now = MonotonicClock.microseconds / 1_000
            guard let count = sparse.withLock({ $0.note("libwebsockets", at: now) }) else { return }
            logger.error("libwebsockets", metadata: ["error": "\(line)", "count": "\(count)"])
        }
    }
}
