import PresenceProtocol

/// An e-mail address in its normal form for comparison and storage: lower case, with an ASCII local part and an ASCII domain
/// (punycode for other letters).
///
/// Quoted local parts and address literals are refused: RFC 5321 allows them, but they are not used in practice.
struct EmailAddress: Hashable {
    /// The longest address in an SMTP path, by RFC 5321 with its errata.
    static let mostBytes = 254
    private static let mostLocalBytes = 64
    private static let mostLabelBytes = 63

    let text: String
    /// The part before the @.
    var local: String { String(text.prefix { $0 != "@" }) }

    /// `nil` if the text is not an address.
    init?(_ text: String) {
        let bytes = text.utf8.map { (0x41...0x5A).contains($0) ? $0 + 0x20 : $0 }
        guard bytes.count <= Self.mostBytes, let at = bytes.firstIndex(of: UInt8(ascii: "@")) else { return nil }
        let (local, domain) = (bytes[..<at], bytes[(at + 1)...])
        guard Self.isLocal(local), Self.isDomain(domain) else { return nil }
        self.text = String(decoding: bytes, as: UTF8.self)
    }

    /// Dot-separated atoms (RFC 5322, 3.2.3).
    private static func isLocal(_ local: ArraySlice<UInt8>) -> Bool {
        guard (1...mostLocalBytes).contains(local.count) else { return false }
        return local.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).allSatisfy { atom in
            !atom.isEmpty && atom.allSatisfy { isAlphanumeric($0) || "!#$%&'*+-/=?^_`{|}~".utf8.contains($0) }
        }
    }

    /// At least two labels, the last of which is not a number.
    private static func isDomain(_ domain: ArraySlice<UInt8>) -> Bool {
        let labels = domain.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard labels.count >= 2, let last = labels.last, last.contains(where: { !(0x30...0x39).contains($0) }) else {
            return false
        }
        return labels.allSatisfy { label in
            (1...mostLabelBytes).contains(label.count) && label.first != UInt8(ascii: "-")
                && label.last != UInt8(ascii: "-") && label.allSatisfy { isAlphanumeric($0) || $0 == UInt8(ascii: "-") }
        }
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte)
    }
}
