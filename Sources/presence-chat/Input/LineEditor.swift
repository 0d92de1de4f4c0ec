/// The line that the user is writing, with a cursor.
struct LineEditor: Hashable, Sendable {
    private(set) var text = ""
    /// The number of characters before the cursor.
    private(set) var cursor = 0

    /// Replaces the text.
    mutating func set(_ newText: String) {
        guard newText != text else { return }
        text = newText
        cursor = text.count
    }

    /// Handles a key; returns whether it has a meaning in a line.
    mutating func handle(_ key: ChatKey) -> Bool {
        switch key {
        case .text(let piece): insert(piece)
        case .backspace: remove(before: 1)
        case .delete: if cursor < text.count { text.remove(at: index(cursor)) }
        case .left: cursor = max(0, cursor - 1)
        case .right: cursor = min(text.count, cursor + 1)
        case .home: cursor = 0
        case .end: cursor = text.count
        case .deleteLine: remove(before: cursor)
        case .deleteWord: remove(before: wordLength)
        default: return false
        }
        return true
    }

    private func index(_ offset: Int) -> String.Index { text.index(text.startIndex, offsetBy: offset) }

    private mutating func insert(_ piece: String) {
        // Inserted text may combine with the character before it: an accent, a part of an emoji.
        let before = String(text[..<index(cursor)]) + piece
        text = before + String(text[index(cursor)...])
        cursor = before.count
    }

    private mutating func remove(before count: Int) {
        let start = max(0, cursor - count)
        text.removeSubrange(index(start)..<index(cursor))
        cursor = start
    }

    /// The length of the word before the cursor, including the spaces after it.
    private var wordLength: Int {
        let before = text[..<index(cursor)]
        let word = before.reversed().drop { $0 == " " }.drop { $0 != " " }
        return before.count - word.count
    }
}
