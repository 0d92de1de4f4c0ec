/// What the terminal shows, so that only lines that differ are written again: little to send, and nothing flickers.
package struct Canvas: Sendable {
    private var shown: [Line] = []
    private var width = 0
    package let isColoured: Bool

    package init(isColoured: Bool) { self.isColoured = isColoured }

    /// The terminal shows something else by now.
    package mutating func forget() { shown = [] }

    /// What to write so that the terminal shows `lines`; empty if it does.
    package mutating func update(to lines: [Line], width: Int) -> String {
        var text = ""
        if shown.count != lines.count || self.width != width {
            shown = []
            text += "\u{1B}[0m\u{1B}[2J"
        }
        for (index, line) in lines.enumerated() where shown.isEmpty || shown[index] != line {
            // Cleared first: where a terminal draws a piece narrower than it was measured, something else would stay.
            text += "\u{1B}[\(index + 1);1H\u{1B}[2K\(line.placedText(isColoured: isColoured))"
        }
        shown = lines
        self.width = width
        return text
    }
}
