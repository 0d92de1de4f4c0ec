import Glibc

/// The header fields of a request: names and values unchanged, in order.
public struct HeaderFields: Sendable {
    /// The positions of a name and its value in `bytes`. A head has fewer than 65,536 bytes.
    struct Field {
        let nameStart: UInt16
        let valueStart: UInt16
        let valueEnd: UInt16
        /// The parts of the name that are compared first.
        let key: UInt32

        /// - Parameter name: Not empty.
        init(_ bytes: UnsafeRawBufferPointer, name: Range<Int>, value: Range<Int>) {
            nameStart = UInt16(name.lowerBound)
            valueStart = UInt16(value.lowerBound)
            valueEnd = UInt16(value.upperBound)
            key = HeaderFields.key(name.count, bytes[name.lowerBound], bytes[name.upperBound - 1])
        }
    }

    private let bytes: [UInt8]
    private let fields: [Field]

    init(_ bytes: [UInt8], _ fields: [Field]) {
        self.bytes = bytes
        self.fields = fields
    }

    public var count: Int { fields.count }

    /// The value of a field, nil if there is none. If several fields have this name, all values, joined by commas.
    ///
    /// - Parameter name: in lower case.
    public subscript(name: String) -> String? {
        var found: String?
        let key = Self.key(name)
        for field in fields where isNamed(field, name, key) {
            let value = String(decoding: bytes[Int(field.valueStart)..<Int(field.valueEnd)], as: UTF8.self)
            found = found.map { "\($0), \(value)" } ?? value
        }
        return found
    }

    /// The number of fields with this name, which must be in lower case.
    func count(of name: String) -> Int {
        let key = Self.key(name)
        return fields.reduce(0) { isNamed($1, name, key) ? $0 + 1 : $0 }
    }

    /// The elements of a list whose parts are separated by commas (RFC 9110, 5.6.1).
    static func list(_ value: String?) -> [String] {
        // Over bytes, because with characters this would be the most expensive part of a handshake.
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

    /// A name's length, its first and its last byte.
    private static func key(_ name: String) -> UInt32 {
        let utf8 = name.utf8
        guard let first = utf8.first, let last = utf8.last else { return 0 }
        return key(utf8.count, first, last)
    }

    /// The key is the same for both cases of a letter. Other bytes may collide too; the full comparison distinguishes
    /// them.
    private static func key(_ length: Int, _ first: UInt8, _ last: UInt8) -> UInt32 {
        UInt32(truncatingIfNeeded: length) << 16 | UInt32(first | 0x20) << 8 | UInt32(last | 0x20)
    }

    private func isNamed(_ field: Field, _ name: String, _ key: UInt32) -> Bool {
        guard field.key == key else { return false }
        var index = Int(field.nameStart)
        for byte in name.utf8 {
            let own = bytes[index]
            guard (0x41...0x5A ~= own ? own | 0x20 : own) == byte else { return false }
            index += 1
        }
        return true
    }
}
