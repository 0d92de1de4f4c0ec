import TerminalClients

/// Wraps a text into lines of a width: at spaces if there are any, and at its own line breaks.
enum Wrapping {
    /// - Returns: at least one line; each is safe for a terminal.
    static func lines(of text: String, width: Int) -> [Label] {
        let width = max(1, width)
        return text.split(separator: "\n", omittingEmptySubsequences: false).flatMap { paragraph in
            lines(ofParagraph: Label(String(paragraph).replacing("\t", with: "    ")).text, width: width)
        }
    }

    private static func lines(ofParagraph text: String, width: Int) -> [Label] {
        var lines: [Label] = []
        var line = ""
        var used = 0
        for word in text.split(separator: " ", omittingEmptySubsequences: false) {
            let wordWidth = word.displayWidth
            if !line.isEmpty, used + 1 + wordWidth <= width {
                line += " " + word
                used += 1 + wordWidth
                continue
            }
            if !line.isEmpty { lines.append(Label(line)) }
            (line, used) = ("", 0)
            // A word longer than a line is cut at the end of the line.
            for character in word {
                let next = character.displayWidth
                if used + next > width, !line.isEmpty {
                    lines.append(Label(line))
                    (line, used) = ("", 0)
                }
                line.append(character)
                used += next
            }
        }
        return lines + [Label(line)]
    }
}
