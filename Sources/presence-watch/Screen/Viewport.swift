/// Which of the rows are in sight.
struct Viewport: Hashable, Sendable {
    /// The first row in sight.
    private(set) var top = 0

    /// Takes in a key.
    /// - Parameters:
    ///   - count: how many rows there are.
    ///   - height: how many of them fit.
    mutating func handle(_ key: Key, count: Int, height: Int) {
        switch key {
        case .up: top -= 1
        case .down: top += 1
        // One line of the page before stays in sight, to find one's place by.
        case .pageUp: top -= max(1, height - 1)
        case .pageDown: top += max(1, height - 1)
        case .home: top = 0
        case .end: top = count
        case .quit, .redraw, .other: break
        }
        clamp(count: count, height: height)
    }

    /// Never scrolls past the end, also when the terminal has grown.
    mutating func clamp(count: Int, height: Int) {
        top = max(0, min(top, count - height))
    }

    /// The rows in sight.
    func range(count: Int, height: Int) -> Range<Int> {
        let first = max(0, min(top, count - height))
        return first..<min(count, first + max(0, height))
    }
}
