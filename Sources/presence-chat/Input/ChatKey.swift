/// What a key means in a chat.
enum ChatKey: Hashable, Sendable {
    case text(String)
    case enter, backspace, delete, left, right, home, end, deleteWord, deleteLine
    case up, pageUp, pageDown, escape, redraw
    /// Ctrl-D: the end, if nothing is written.
    case endOfInput
    /// One that means nothing here.
    case other
}
