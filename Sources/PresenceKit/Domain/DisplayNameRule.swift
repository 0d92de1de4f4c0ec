import Foundation

extension User {
    /// The rule for display names, with texts for users. It equals the server's rule, so the server will not reject a name
    /// that passes.
    public enum DisplayNameRule {
        /// The longest name, in user-perceived characters.
        public static let maximumLength = 50
        /// In bytes of UTF-8, because one character may consist of very many code points.
        static let maximumBytes = 1_024

        /// The name without leading and trailing white space, as it is stored.
        public static func trimmed(_ name: String) -> String {
            let scalars = name.unicodeScalars
            guard let first = scalars.firstIndex(where: { !$0.properties.isWhitespace }),
                let last = scalars.lastIndex(where: { !$0.properties.isWhitespace })
            else { return "" }
            return String(scalars[first...last])
        }

        /// The fault of a name, as a text for users; `nil` if the name is valid.
        public static func fault(in name: String) -> String? {
            let name = trimmed(name)
            if name.isEmpty { return Sentence.nameEmpty.text() }
            if name.count > maximumLength { return Sentence.nameLong.text(maximumLength) }
            if name.utf8.count > maximumBytes { return Sentence.nameTooLong.text() }
            if name.unicodeScalars.contains(where: isRefused) || !name.unicodeScalars.contains(where: isVisible) {
                return Sentence.nameCharacters.text()
            }
            return nil
        }

        /// Control characters, line separators, characters that change the direction of surrounding text, and
        /// noncharacters.
        private static func isRefused(_ scalar: Unicode.Scalar) -> Bool {
            switch scalar.value {
            case 0x00...0x1F, 0x7F...0x9F, 0x2028, 0x2029, 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x206F:
                true
            default: scalar.properties.isNoncharacterCodePoint
            }
        }

        /// Whether the character is visible by itself.
        private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
            // Symbols without a shape: the empty braille pattern, and the null note head of music.
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

        /// The default name of a user: the part of the e-mail address before `@`, cut to the maximum length, or `User`
        /// without an address.
        public static func standard(for email: String?) -> String {
            let prefix = trimmed(String(email?.prefix { $0 != "@" } ?? ""))
            return prefix.isEmpty ? Sentence.standardName.text() : String(prefix.prefix(maximumLength))
        }
    }
}
