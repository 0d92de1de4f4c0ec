/// The meaning of a key in a chat.
enum ChatKey: Hashable, Sendable {
    case text(String)
    case enter, backspace, delete, left, right, home, end, deleteWord, deleteLine
    case up, pageUp, pageDown, escape, redraw
    /// Ctrl-D: quits if the line is empty.
    case endOfInput
    /// A key without a meaning here.
    case other
}
