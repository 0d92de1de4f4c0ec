/// The encoding of a token's three parts (RFC 4648, section 5, without padding).
package enum Base64URL {
    /// Decodes strictly: no padding, no foreign character, no bits left over. So no two texts mean the same bytes.
    ///
    /// - Returns: `nil` if `text` is anything else.
    package static func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        guard text.count % 4 != 1 else { return nil }
        var isValid = true
        // Unsafe: the memory is the new array's own, and has room for as many bytes as whole ones come out.
        let decoded = Array<UInt8>(unsafeUninitializedCapacity: text.count * 3 / 4) { buffer, length in
            var bits: UInt32 = 0
            var count = 0
            for character in text {
                let value = values[Int(character)]
                guard value != invalid else { return isValid = false }
                bits = bits << 6 | UInt32(value)
                count += 6
                if count >= 8 {
                    count -= 8
                    buffer[length] = UInt8(truncatingIfNeeded: bits >> UInt32(count))
                    length += 1
                }
            }
            isValid = bits & (1 << UInt32(count) - 1) == 0
        }
        return isValid ? decoded : nil
    }

    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        var text: [UInt8] = []
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
