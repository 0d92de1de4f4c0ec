/// How a piece of text looks: the 16 colours, which follow the theme of the terminal.
struct Style: Hashable, Sendable {
    enum Color: Int, Sendable {
        case red = 31, green = 32, yellow = 33, cyan = 36, grey = 90
    }

    var color: Color?
    var isBold = false
    var isDim = false
    var isItalic = false

    static let plain = Style()
    static let bold = Style(isBold: true)
    static let dim = Style(isDim: true)
    static let grey = Style(color: .grey)

    /// The same, as what is not known to be true any more looks.
    var faded: Style { Style(color: .grey, isItalic: isItalic) }

    /// The escape sequence that turns it on, from nothing; empty for plain text.
    var sequence: String {
        var codes: [Int] = []
        if isBold { codes.append(1) }
        if isDim { codes.append(2) }
        if isItalic { codes.append(3) }
        if let color { codes.append(color.rawValue) }
        return codes.isEmpty ? "" : "\u{1B}[\(codes.map(String.init).joined(separator: ";"))m"
    }
}
