/// Text from elsewhere, made harmless for a terminal, with its width; made once a change and not once a drawing.
///
/// Whatever its source holds, it has no control characters (a terminal would obey them), nothing that turns the
/// direction of what follows, no mark that would fall on the cell before it, and no towers of marks.
package struct Label: Hashable, Sendable {
    package let text: String
    /// In columns.
    package let width: Int

    /// The longest emoji in use have ten code points; towers of marks have dozens.
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
            // At the front it would be drawn over the cell before.
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
            // Joiners and tags make emoji; what else is invisible only serves to deceive.
            case .format where scalar != "\u{200D}" && scalar != "\u{200C}" && !scalar.isTag: nil
            default: scalar
            }
        }
    }

    /// The same in exactly `columns`: cut with an ellipsis, or padded.
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
    /// Part of a flag of a region, such as Scotland's.
    fileprivate var isTag: Bool { (0xE0020...0xE007F).contains(value) }
}
