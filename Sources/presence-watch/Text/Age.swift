import Foundation

/// How long ago something was, as people say it, in ten columns at most.
struct Age: Hashable, Sendable {
    /// Whole seconds, never below zero: a clock that is a little off must not show the future.
    let seconds: Int

    init(of date: Date, at now: Date) {
        let elapsed = now.timeIntervalSince(date)
        // A date beyond all bounds is a server's mistake and must not end the watcher.
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

    /// `3 min ago`, of what is over.
    var ago: String { seconds == 0 ? "just now" : "\(text) ago" }

    /// `for 3 min`, of what lasts.
    var lasting: String { seconds == 0 ? "just now" : "for \(text)" }
}

extension Duration {
    /// How long a change took: `<1 ms`, `12 ms`, `1.2 s`, `75 s`. The server tells times in whole milliseconds.
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
