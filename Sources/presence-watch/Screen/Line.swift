/// One line of a screen: pieces of text, each at its column.
struct Line: Hashable, Sendable {
    struct Span: Hashable, Sendable {
        /// From 0.
        let column: Int
        let text: String
        let style: Style
    }

    private(set) var spans: [Span] = []
    /// Where the next piece begins.
    private(set) var width = 0

    /// Adds text of a known width, free of anything that a terminal would obey.
    mutating func append(_ text: String, width textWidth: Int, _ style: Style = .plain) {
        guard !text.isEmpty else { return }
        spans.append(Span(column: width, text: text, style: style))
        width += textWidth
    }

    mutating func append(_ text: String, _ style: Style = .plain) {
        append(text, width: text.displayWidth, style)
    }

    mutating func append(_ label: Label, to columns: Int, _ style: Style = .plain) {
        append(label.fitted(to: columns), width: columns, style)
    }

    mutating func skip(_ columns: Int) {
        if columns > 0 { append(String(repeating: " ", count: columns), width: columns) }
    }

    /// Without colours and without spaces at its end.
    var plainText: String {
        var text = spans.map(\.text).joined()
        while text.last == " " { text.removeLast() }
        return text
    }

    /// With colours.
    var colouredText: String {
        spans.map { $0.style == .plain ? $0.text : "\($0.style.sequence)\($0.text)\u{1B}[0m" }.joined()
    }

    /// With colours if asked for, each piece put at its column: should the terminal have drawn one piece wider or
    /// narrower than it was measured, the next one stands in its place all the same.
    func placedText(isColoured: Bool) -> String {
        spans.map { span in
            let place = span.column == 0 ? "" : "\u{1B}[\(span.column + 1)G"
            let sequence = isColoured ? span.style.sequence : ""
            return place + sequence + span.text + (sequence.isEmpty ? "" : "\u{1B}[0m")
        }.joined()
    }
}
