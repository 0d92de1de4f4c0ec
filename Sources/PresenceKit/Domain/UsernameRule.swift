import Foundation

extension User {
    /// The rule for usernames, with a text for users.
    public enum UsernameRule {
        /// The fault of a name, as a text for users; `nil` if it is valid: 3 to 30 letters, digits, periods and
        /// underscores, with no period at either end and no two in a row.
        public static func fault(in name: String) -> String? {
            let bytes = Array(name.utf8)
            let isAllowed = bytes.allSatisfy { byte in
                byte == UInt8(ascii: ".") || byte == UInt8(ascii: "_")
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                    || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
            }
            guard (3...30).contains(bytes.count), isAllowed, !name.hasPrefix("."), !name.hasSuffix("."),
                !name.contains("..")
            else { return Sentence.usernameInvalid.text() }
            return nil
        }
    }
}
