/// A line with text at its left and right ends, used as title and footer.
package struct Bar: Hashable, Sendable {
    /// Pieces of text side by side, without control sequences.
    package typealias End = [(text: String, style: Style)]

    package let width: Int

    package init(width: Int) { self.width = width }

    /// The same margin as in the table.
    private var margin: Int { width >= 60 ? 1 : 0 }
    private static let gap = 3

    /// The first choice that fits; if none fits, the last one, truncated.
    package func line(_ choices: [(left: End, right: End)]) -> Line {
        var line = Line()
        line.skip(margin)
        for (left, right) in choices {
            let ends = Self.measure(left) + Self.measure(right)
            let between = width - 2 * margin - ends
            guard between >= (left.isEmpty || right.isEmpty ? 0 : Self.gap) else { continue }
            Self.add(left, to: &line)
            if !left.isEmpty { line.skip(between) }
            Self.add(right, to: &line)
            return line
        }
        if let last = choices.last, let part = (last.left + last.right).first {
            line.append(Label(part.text), to: width - margin, part.style)
        }
        return line
    }

    private static func measure(_ end: End) -> Int {
        end.reduce(0) { $0 + $1.text.displayWidth } + max(0, end.count - 1) * gap
    }

    private static func add(_ end: End, to line: inout Line) {
        for (index, part) in end.enumerated() {
            if index > 0 { line.skip(gap) }
            line.append(part.text, part.style)
        }
    }
}
