import Foundation

/// The time since an event in words, in at most ten columns.
struct Age: Hashable, Sendable {
    /// In whole seconds, never negative: a slightly wrong clock must not show the future.
    let seconds: Int

    init(of date: Date, at now: Date) {
        let elapsed = now.timeIntervalSince(date)
        // An invalid date from a server must not crash the watcher.
        seconds = elapsed.isFinite ? Int(min(max(0, elapsed), 1e12)) : 0
    }

    /// `3 min`
    var text: String {
        switch seconds {
        case ..<60: "\(seconds) s"
        case ..<3_600: "\(seconds / 60) min"
        case ..<86_400: "\(seconds / 3_600) h"
        case ..<(366 * 86_400): "\(seconds / 86_400) d"
        default: "\(min(seconds / 31_556_952, 999)) y"
        }
    }

    /// `3 min ago`, for an event.
    var ago: String { seconds == 0 ? "just now" : "\(text) ago" }

    /// `for 3 min`, for a status that lasts.
    var lasting: String { seconds == 0 ? "just now" : "for \(text)" }
}

extension Duration {
    /// The duration of a change: `<1 ms`, `12 ms`, `1.2 s`, `75 s`. The server's timestamps are whole milliseconds.
    var shortText: String {
        let milliseconds = self / .milliseconds(1)
        return switch milliseconds {
        case ..<1: "<1 ms"
        case ..<999.5: "\(Int(milliseconds.rounded())) ms"
        case ..<9_950: "\((milliseconds / 100).rounded() / 10) s"
        default: "\(Int(min(milliseconds / 1_000, 1e9).rounded())) s"
        }
    }
}
