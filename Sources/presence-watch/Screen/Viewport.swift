/// The range of visible rows.
struct Viewport: Hashable, Sendable {
    /// The first visible row.
    private(set) var top = 0

    /// Handles a key.
    /// - Parameters:
    ///   - count: the number of rows.
    ///   - height: the number of rows that fit.
    mutating func handle(_ key: Key, count: Int, height: Int) {
        switch key {
        case .up: top -= 1
        case .down: top += 1
        // One line of the previous page stays visible, for orientation.
        case .pageUp: top -= max(1, height - 1)
        case .pageDown: top += max(1, height - 1)
        case .home: top = 0
        case .end: top = count
        case .quit, .redraw, .other: break
        }
        clamp(count: count, height: height)
    }

    /// Keeps the end in range, also after the terminal has grown.
    mutating func clamp(count: Int, height: Int) {
        top = max(0, min(top, count - height))
    }

    /// The visible rows.
    func range(count: Int, height: Int) -> Range<Int> {
        let first = max(0, min(top, count - height))
        return first..<min(count, first + max(0, height))
    }
}
