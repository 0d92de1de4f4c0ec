/// The name of a time zone in the IANA database, such as `America/Argentina/Buenos_Aires` or `Etc/GMT+5`.
///
/// Only the form is checked: the database changes several times a year and differs between machines.
public enum TimeZoneName {
    /// The longest name, in bytes.
    public static let maximumBytes = 64

    /// Whether `name` is parts of letters, digits, `_`, `+` and `-`, each beginning with a letter, joined by `/`.
    public static func isWellFormed(_ name: String) -> Bool {
        guard (1...maximumBytes).contains(name.utf8.count) else { return false }
        return name.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).allSatisfy { part in
            guard let first = part.first, isLetter(first) else { return false }
            return part.allSatisfy { isAlphanumeric($0) || "_+-".utf8.contains($0) }
        }
    }
}
