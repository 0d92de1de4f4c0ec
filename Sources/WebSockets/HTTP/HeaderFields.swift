import Glibc

/// The header fields of a request: names and values as they came, in their order.
public struct HeaderFields: Sendable {
    /// Where a name and its value stand in `bytes`. A head has fewer than 65,536 bytes.
    struct Field {
        var nameStart: UInt16
        var nameEnd: UInt16
        var valueStart: UInt16
        var valueEnd: UInt16
    }

    private let bytes: [UInt8]
    private let fields: [Field]

    init(_ bytes: [UInt8], _ fields: [Field]) {
        self.bytes = bytes
        self.fields = fields
    }

    public var count: Int { fields.count }

    /// The value of a field, nil if there is none; of several fields of this name all values, joined by commas.
    ///
    /// - Parameter name: in small letters.
    public subscript(name: String) -> String? {
        var found: String?
        let key = Self.key(name)
        for field in fields where isNamed(field, name, key) {
            let value = String(decoding: bytes[Int(field.valueStart)..<Int(field.valueEnd)], as: UTF8.self)
            found = found.map { "\($0), \(value)" } ?? value
        }
        return found
    }

    /// How many fields have this name, which is in small letters.
    func count(of name: String) -> Int {
        let key = Self.key(name)
        return fields.reduce(0) { isNamed($1, name, key) ? $0 + 1 : $0 }
    }

    /// The elements of a list whose parts are separated by commas (RFC 9110, 5.6.1).
    static func list(_ value: String?) -> [String] {
        // Over bytes: as characters this would be the dearest part of a handshake.
        (value ?? "").utf8.split(separator: UInt8(ascii: ",")).compactMap { element in
            var element = element
            while let first = element.first, isBlank(first) { element.removeFirst() }
            while let last = element.last, isBlank(last) { element.removeLast() }
            return element.isEmpty ? nil : String(Substring(element))
        }
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
    }

    /// What of a name is compared before all of it: its length, its first and its last byte.
    private static func key(_ name: String) -> UInt32 {
        let utf8 = name.utf8
        guard let first = utf8.first, let last = utf8.last else { return 0 }
        return key(utf8.count, first, last)
    }

    private func key(_ field: Field) -> UInt32 {
        Self.key(
            Int(field.nameEnd - field.nameStart), bytes[Int(field.nameStart)], bytes[Int(field.nameEnd) - 1])
    }

    /// The same for small letters and capitals. Other bytes may be alike, too, which the comparison tells apart.
    private static func key(_ length: Int, _ first: UInt8, _ last: UInt8) -> UInt32 {
        UInt32(truncatingIfNeeded: length) << 16 | UInt32(first | 0x20) << 8 | UInt32(last | 0x20)
    }

    private func isNamed(_ field: Field, _ name: String, _ key: UInt32) -> Bool {
        guard self.key(field) == key else { return false }
        var index = Int(field.nameStart)
        for byte in name.utf8 {
            let own = bytes[index]
            guard (0x41...0x5A ~= own ? own | 0x20 : own) == byte else { return false }
            index += 1
        }
        return true
    }
}
