import EventLoops
import Logging
import PresenceCore
import WebSockets

/// Logs errors of libwebsockets that are reported nowhere else, for example TLS handshakes that fail because of an internal
/// error.
enum LibraryErrors {
    /// Starts logging these errors, at most one a second, because clients can cause them.
    static func log(to logger: Logger) {
        let sparse = Locked(SparseLog())
        LibWebSockets.onError { line in
            let now = MonotonicClock.microseconds / 1_000
            guard let count = sparse.withLock({ $0.count("libwebsockets", at: now) }) else { return }
            logger.error("libwebsockets", metadata: ["error": "\(line)", "count": "\(count)"])
        }
    }
}
