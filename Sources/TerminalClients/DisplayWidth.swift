/// The number of terminal columns that a text takes.
///
/// Terminals disagree about characters that are newer than the terminal, and about emoji of several code points. In
/// these cases the larger number is used. Each column of the table is positioned separately (``Line``), so that one
/// cell cannot move another.
extension Character {
    package var displayWidth: Int {
        if isASCII { return 1 }
        let scalars = unicodeScalars
        guard let first = scalars.first, scalars.count > 1 else { return scalars.first?.displayWidth ?? 0 }
        if isPicture(first) { return 2 }
        // Conjuncts of Indic scripts are one character of several letters; terminals use a column for each letter.
        return scalars.reduce(0) { $0 + $1.displayWidth }
    }

    /// Whether several code points are drawn as one emoji: joined, coloured, a flag, or with an emoji presentation
    /// selector.
    private func isPicture(_ first: Unicode.Scalar) -> Bool {
        if first.isRegionalIndicator { return true }
        guard first.properties.isEmoji else { return false }
        return unicodeScalars.dropFirst().contains {
            $0 == "\u{200D}" || $0 == "\u{FE0F}" || $0.properties.isEmojiModifier
        }
    }
}

extension StringProtocol {
    package var displayWidth: Int { reduce(0) { $0 + $1.displayWidth } }
}

extension Unicode.Scalar {
    var displayWidth: Int {
        if isASCII { return 1 }
        if isZeroWidth { return 0 }
        return WideScalars.contains(self) ? 2 : 1
    }

    /// Whether it is drawn over the preceding character, or not at all.
    var isZeroWidth: Bool {
        switch properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: true
        // Hangul vowels and trailing consonants complete the preceding syllable.
        default: (0x1160...0x11FF).contains(value) || (0xD7B0...0xD7FF).contains(value)
        }
    }

    fileprivate var isRegionalIndicator: Bool { (0x1F1E6...0x1F1FF).contains(value) }
}
