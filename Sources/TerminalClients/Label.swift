/// Text from another source, made safe for a terminal, with its width. Made once for each change, not for each drawing.
///
/// It has no control characters (a terminal would execute them), no characters that change the text direction, no
/// combining mark at its start, which would be drawn over the preceding cell, and no long stacks of marks.
package struct Label: Hashable, Sendable {
    package let text: String
    /// In columns.
    package let width: Int

    /// The longest emoji in use have ten code points; abusive stacks of marks have dozens.
    private static let mostScalars = 16

    package static let empty = Label("")

    package init(_ source: String) {
        if source.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) {
            text = source
            width = source.utf8.count
            return
        }
        var scalars = String.UnicodeScalarView()
        for character in source {
            let safe = Self.safe(character)
            // At the start, it would be drawn over the preceding cell.
            guard let first = safe.first, !scalars.isEmpty || !first.isZeroWidth else { continue }
            scalars.append(contentsOf: safe)
        }
        text = String(scalars)
        width = text.displayWidth
    }

    private static func safe(_ character: Character) -> [Unicode.Scalar] {
        character.unicodeScalars.prefix(mostScalars).compactMap { scalar in
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator: "\u{FFFD}"
            // Joiners and tags are parts of emoji. Other invisible characters are removed, because they can deceive.
            case .format where scalar != "\u{200D}" && scalar != "\u{200C}" && !scalar.isTag: nil
            default: scalar
            }
        }
    }

    /// The text in exactly `columns`: truncated with an ellipsis, or padded.
    package func fitted(to columns: Int) -> String {
        if width <= columns { return text + String(repeating: " ", count: columns - width) }
        guard columns > 0 else { return "" }
        var cut = ""
        var used = 0
        for character in text {
            let next = character.displayWidth
            guard used + next < columns else { break }
            cut.append(character)
            used += next
        }
        return cut + "…" + String(repeating: " ", count: columns - used - 1)
    }
}

extension Unicode.Scalar {
    /// Whether it is part of a region's flag, such as Scotland's.
    fileprivate var isTag: Bool { (0xE0020...0xE007F).contains(value) }
}
