/// The common rules of all text that users write for others: names and status texts.
///
/// The text is UTF-8 of at most 1 KiB, without characters that could end a line or change the direction of the text
/// around it. Length is counted in user-perceived characters (extended grapheme clusters, UAX #29). The text is not
/// normalised: other users get it as it was sent.
public enum FreeText {
    /// The longest text, in bytes of UTF-8, because a single character may consist of very many code points.
    public static let maximumBytes = 1024

    /// Rejected are C0 and C1 controls and DEL, the line and paragraph separators, and the bidirectional controls. The
    /// joiners U+200C and U+200D are allowed: scripts and emoji need them.
    public static func allows(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x00...0x1F, 0x7F...0x9F: false  // C0, DEL, C1
        case 0x2028, 0x2029: false  // Line and paragraph separator.
        case 0x061C, 0x200E, 0x200F: false  // Arabic letter mark, left-to-right and right-to-left mark.
        case 0x202A...0x202E: false  // Embeddings, overrides and their end.
        case 0x2066...0x2069: false  // Isolates and their end.
        default: true
        }
    }

    /// Whether `text` is allowed and at most `maximumCharacters` characters long.
    public static func isValid(_ text: String, maximumCharacters: Int) -> Bool {
        brokenRule(by: text, maximumCharacters: maximumCharacters) == nil
    }

    /// The rule that `text` breaks; `nil` if it breaks none. An error names the JSON member before it.
    public static func brokenRule(by text: String, maximumCharacters: Int) -> String? {
        let length = text.utf8.count
        guard length <= maximumBytes else { return "must be at most \(maximumBytes) bytes long" }
        guard text.unicodeScalars.allSatisfy(allows) else {
            return "must be without control and bidirectional-control characters"
        }
        // A text never has more characters than bytes, so most texts need not be counted.
        guard length <= maximumCharacters || text.count <= maximumCharacters else {
            return "must be at most \(maximumCharacters) characters long"
        }
        return nil
    }

    /// Whether any part of the text is visible: a letter, digit, punctuation mark or symbol that can stand alone.
    /// Spaces, joiners, fillers, variation selectors, tags, and combining marks without a base are invisible, and so
    /// are private-use and unassigned code points.
    public static func isVisible(_ text: String) -> Bool { text.unicodeScalars.contains(where: isVisible) }

    private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
        // The standard library searches its tables for ASCII too.
        if scalar.isASCII { return (0x21...0x7E).contains(scalar.value) }
        // Symbols without a shape: the empty pattern of braille, and the null note head of music.
        if scalar.value == 0x2800 || scalar.value == 0x1D159 { return false }
        let properties = scalar.properties
        guard !properties.isWhitespace, !properties.isDefaultIgnorableCodePoint, !properties.isNoncharacterCodePoint
        else { return false }
        switch properties.generalCategory {
        case .control, .format, .surrogate, .spaceSeparator, .lineSeparator, .paragraphSeparator, .nonspacingMark,
            .enclosingMark, .spacingMark, .privateUse, .unassigned:
            return false
        default: return true
        }
    }

    /// Whether the code point has no effect or meaning in a name: a deprecated format character (U+206A to U+206F) or a
    /// noncharacter.
    public static func isMeaningless(_ scalar: Unicode.Scalar) -> Bool {
        !scalar.isASCII && ((0x206A...0x206F).contains(scalar.value) || scalar.properties.isNoncharacterCodePoint)
    }

    /// `text` without the Unicode white space at both its ends.
    public static func trimmed(_ text: String) -> String {
        let visible: ClosedRange<UInt8> = 0x21...0x7E
        if let first = text.utf8.first, let last = text.utf8.last, visible ~= first, visible ~= last { return text }
        let scalars = text.unicodeScalars
        guard let first = scalars.firstIndex(where: { !$0.properties.isWhitespace }),
            let last = scalars.lastIndex(where: { !$0.properties.isWhitespace })
        else { return "" }
        return String(scalars[first...last])
    }
}

/// The text beside a status.
public enum StatusText {
    public static let maximumCharacters = 140

    public static func isValid(_ text: String) -> Bool {
        FreeText.isValid(text, maximumCharacters: maximumCharacters)
    }
}

/// The owner's name for a device.
public enum DeviceName {
    public static let maximumCharacters = 128

    public static func isValid(_ name: String) -> Bool {
        FreeText.isValid(name, maximumCharacters: maximumCharacters)
    }
}

/// The name of a user that others see.
public enum DisplayName {
    public static let maximumCharacters = 50

    /// The name as it is stored, without white space at its ends; `nil` if that is empty or not allowed.
    public static func normalized(_ name: String) -> String? {
        let trimmed = FreeText.trimmed(name)
        return brokenRule(by: trimmed) == nil ? trimmed : nil
    }

    /// The rule that a trimmed name breaks; `nil` if it breaks none. An error names the JSON member before it.
    public static func brokenRule(by name: String) -> String? {
        guard !name.isEmpty else { return "must not be empty" }
        if let rule = FreeText.brokenRule(by: name, maximumCharacters: maximumCharacters) { return rule }
        guard !name.unicodeScalars.contains(where: FreeText.isMeaningless) else {
            return "must be without noncharacters and deprecated format characters"
        }
        return FreeText.isVisible(name) ? nil : "must have a visible character"
    }
}
