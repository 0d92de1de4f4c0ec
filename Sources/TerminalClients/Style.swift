/// The style of a piece of text, in the 16 colours that follow the terminal's theme.
package struct Style: Hashable, Sendable {
    package enum Color: Int, Sendable {
        case red = 31, green = 32, yellow = 33, cyan = 36, grey = 90
    }

    package var color: Color?
    package var isBold = false
    package var isDim = false
    package var isItalic = false

    package init(color: Color? = nil, isBold: Bool = false, isDim: Bool = false, isItalic: Bool = false) {
        self.color = color
        self.isBold = isBold
        self.isDim = isDim
        self.isItalic = isItalic
    }

    package static let plain = Style()
    package static let bold = Style(isBold: true)
    package static let dim = Style(isDim: true)
    package static let grey = Style(color: .grey)

    /// The style for outdated values.
    package var faded: Style { Style(color: .grey, isItalic: isItalic) }

    /// The escape sequence for this style after a reset; empty for plain text.
    package var sequence: String {
        var codes: [Int] = []
        if isBold { codes.append(1) }
        if isDim { codes.append(2) }
        if isItalic { codes.append(3) }
        if let color { codes.append(color.rawValue) }
        return codes.isEmpty ? "" : "\u{1B}[\(codes.map(String.init).joined(separator: ";"))m"
    }
}
