/// One line of a screen: pieces of text, each at its column.
package struct Line: Hashable, Sendable {
    package struct Span: Hashable, Sendable {
        /// From 0.
        package let column: Int
        package let text: String
        package let style: Style
    }

    package private(set) var spans: [Span] = []
    /// The column of the next piece.
    package private(set) var width = 0

    package init() {}

    /// Appends text of a known width, without control sequences.
    package mutating func append(_ text: String, width textWidth: Int, _ style: Style = .plain) {
        guard !text.isEmpty else { return }
        spans.append(Span(column: width, text: text, style: style))
        width += textWidth
    }

    package mutating func append(_ text: String, _ style: Style = .plain) {
        append(text, width: text.displayWidth, style)
    }

    package mutating func append(_ label: Label, to columns: Int, _ style: Style = .plain) {
        append(label.fitted(to: columns), width: columns, style)
    }

    package mutating func skip(_ columns: Int) {
        if columns > 0 { append(String(repeating: " ", count: columns), width: columns) }
    }

    /// Without colours and trailing spaces.
    package var plainText: String {
        var text = spans.map(\.text).joined()
        while text.last == " " { text.removeLast() }
        return text
    }

    /// With colours.
    package var colouredText: String {
        spans.map { $0.style == .plain ? $0.text : "\($0.style.sequence)\($0.text)\u{1B}[0m" }.joined()
    }

    /// With colours if wanted, and with each piece positioned at its column. If the terminal draws a piece wider or
    /// narrower than measured, the next piece is still in its place.
    package func placedText(isColoured: Bool) -> String {
        spans.map { span in
            let place = span.column == 0 ? "" : "\u{1B}[\(span.column + 1)G"
            let sequence = isColoured ? span.style.sequence : ""
            return place + sequence + span.text + (sequence.isEmpty ? "" : "\u{1B}[0m")
        }.joined()
    }
}
