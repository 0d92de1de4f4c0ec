import Foundation

/// One line on standard error that shows the progress of a run, rewritten in place on a terminal.
struct Progress {
    private let isTerminal = isatty(STDERR_FILENO) == 1
    private let isWanted: Bool
    private var next = Instant(nanoseconds: 0)
    private var isShown = false

    /// - Parameter always: also if standard error is not a terminal; then it is a new line each time.
    init(always: Bool) { isWanted = isTerminal || always }

    /// Shows `line`, if it is due.
    mutating func show(now: Instant, _ line: () -> String) {
        guard isWanted, now >= next else { return }
        next = now + (isTerminal ? .milliseconds(200) : .seconds(2))
        isShown = true
        write(isTerminal ? "\r\u{1B}[K\(line())" : "\(line())\n")
    }

    /// When the line is due again; `nil` if it is never shown.
    var due: Instant? { isWanted ? next : nil }

    /// Removes the line.
    mutating func clear() {
        guard isTerminal, isShown else { return }
        isShown = false
        write("\r\u{1B}[K")
    }

    private func write(_ text: String) { StandardFile.errors.write(Data(text.utf8)) }
}
