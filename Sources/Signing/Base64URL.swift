/// The encoding of a token's three parts, and of a JSON Web Key's numbers (RFC 4648, section 5, without padding).
package enum Base64URL {
    /// Decodes strictly: no padding, no foreign character, no bits left over. So no two texts mean the same bytes.
    ///
    /// - Returns: `nil` if `text` is anything else.
    package static func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        guard text.count % 4 != 1 else { return nil }
        var isValid = true
        // Unsafe: the memory is the new array's own, and has room for all the whole bytes that the text encodes.
        let decoded = Array<UInt8>(unsafeUninitializedCapacity: text.count * 3 / 4) { buffer, length in
            isValid = text.withUnsafeBufferPointer { text in
                values.withUnsafeBufferPointer { decode(text, by: $0, into: buffer, &length) }
            }
        }
        return isValid ? decoded : nil
    }

    /// Four characters at a time encode three bytes; the last two or three characters encode one or two bytes.
    private static func decode(
        _ text: UnsafeBufferPointer<UInt8>, by values: UnsafeBufferPointer<UInt8>,
        into buffer: UnsafeMutableBufferPointer<UInt8>, _ length: inout Int
    ) -> Bool {
        // The upper two bits of all values: a foreign character sets them.
        var foreign: UInt8 = 0
        var bits: UInt32 = 0
        func consume(_ character: UInt8) {
            let value = values[Int(character)]
            foreign |= value
            bits = bits << 6 | UInt32(value & 63)
        }
        func put(_ shift: UInt32) {
            buffer[length] = UInt8(truncatingIfNeeded: bits >> shift)
            length += 1
        }
        var index = 0
        while text.count - index >= 4 {
            for place in index..<index + 4 { consume(text[place]) }
            put(16)
            put(8)
            put(0)
            index += 4
        }
        let rest = text.count - index
        bits = 0
        for place in index..<text.count { consume(text[place]) }
        if rest == 3 { put(10) }
        if rest >= 2 { put(rest == 3 ? 2 : 4) }
        let unused: UInt32 = rest == 3 ? 0b11 : rest == 2 ? 0b1111 : 0
        return foreign < 64 && bits & unused == 0
    }

    package static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count * 4 + 2) / 3)
        var bits: UInt32 = 0
        var count = 0
        for byte in bytes {
            bits = bits << 8 | UInt32(byte)
            count += 8
            while count >= 6 {
                count -= 6
                text.append(alphabet[Int(bits >> UInt32(count) & 63)])
            }
        }
        if count > 0 { text.append(alphabet[Int(bits << UInt32(6 - count) & 63)]) }
        return String(decoding: text, as: UTF8.self)
    }

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    private static let invalid: UInt8 = 0xFF
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: invalid, count: 256)
        for (value, character) in alphabet.enumerated() { values[Int(character)] = UInt8(value) }
        return values
    }()
}
