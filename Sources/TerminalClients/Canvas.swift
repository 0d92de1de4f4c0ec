/// The content of the terminal. Only lines that differ are written again, which saves output and avoids flicker.
package struct Canvas: Sendable {
    private var shown: [Line] = []
    private var width = 0
    package let isColoured: Bool

    package init(isColoured: Bool) { self.isColoured = isColoured }

    /// The terminal no longer shows this content.
    package mutating func forget() { shown = [] }

    /// The output that makes the terminal show `lines`; empty if it already does.
    package mutating func update(to lines: [Line], width: Int) -> String {
        var text = ""
        if shown.count != lines.count || self.width != width {
            shown = []
            text += "\u{1B}[0m\u{1B}[2J"
        }
        for (index, line) in lines.enumerated() where shown.isEmpty || shown[index] != line {
            // Cleared first, because a terminal may draw text narrower than it was measured and leave old characters.
            text += "\u{1B}[\(index + 1);1H\u{1B}[2K\(line.placedText(isColoured: isColoured))"
        }
        shown = lines
        self.width = width
        return text
    }
}
