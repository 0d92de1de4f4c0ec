import Foundation

/// The rule for display names, with the texts that people are shown: the server's rule, so that what passes here is not
/// refused later.
public enum DisplayNameRule {
    /// The longest name, in characters as people count them.
    public static let maximumLength = 50
    /// In UTF-8: one character may be made of very many code points.
    static let maximumBytes = 1_024

    /// Without white space at its ends, as it is stored.
    public static func trimmed(_ name: String) -> String {
        let scalars = name.unicodeScalars
        guard let first = scalars.firstIndex(where: { !$0.properties.isWhitespace }),
            let last = scalars.lastIndex(where: { !$0.properties.isWhitespace })
        else { return "" }
        return String(scalars[first...last])
    }

    /// What is wrong with a name, for people; `nil` if nothing is.
    public static func fault(in name: String) -> String? {
        let name = trimmed(name)
        if name.isEmpty { return "Display name cannot be empty" }
        if name.count > maximumLength { return "Display name must be \(maximumLength) characters or less" }
        if name.utf8.count > maximumBytes { return "Display name is too long" }
        if name.unicodeScalars.contains(where: isRefused) || !name.unicodeScalars.contains(where: isVisible) {
            return "Display name contains characters that cannot be used"
        }
        return nil
    }

    /// Controls, separators of lines, and what turns the direction of the text around it or means nothing.
    private static func isRefused(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x00...0x1F, 0x7F...0x9F, 0x2028, 0x2029, 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x206F: true
        default: scalar.properties.isNoncharacterCodePoint
        }
    }

    /// Whether it shows something by itself.
    private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
        // Symbols without a shape: the empty pattern of braille, and the null note head of music.
        if scalar.value == 0x2800 || scalar.value == 0x1D159 { return false }
        let properties = scalar.properties
        guard !properties.isWhitespace, !properties.isDefaultIgnorableCodePoint else { return false }
        switch properties.generalCategory {
        case .control, .format, .surrogate, .spaceSeparator, .lineSeparator, .paragraphSeparator, .nonspacingMark,
            .enclosingMark, .spacingMark, .privateUse, .unassigned:
            return false
        default: return true
        }
    }

    /// The name that a user has before they choose one: the part of the e-mail address before `@`, cut to length; `User`
    /// without one.
    public static func standard(for email: String?) -> String {
        let prefix = trimmed(String(email?.prefix { $0 != "@" } ?? ""))
        return prefix.isEmpty ? "User" : String(prefix.prefix(maximumLength))
    }
}
