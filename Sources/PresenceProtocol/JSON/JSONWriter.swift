/// Appends JSON to bytes, in the order of the calls. Commas and brackets are `raw`.
public enum JSONWriter {
    /// Appends text that is JSON already.
    @inlinable
    public static func raw(_ json: StaticString, to output: inout [UInt8]) {
        // Unsafe: a literal's bytes live as long as the program.
        output.append(contentsOf: UnsafeBufferPointer(start: json.utf8Start, count: json.utf8CodeUnitCount))
    }

    /// Appends bytes that are JSON already.
    @inlinable
    public static func raw(_ json: UnsafeRawBufferPointer, to output: inout [UInt8]) {
        output.append(contentsOf: json)
    }

    /// Appends an integer in decimal.
    public static func integer(_ value: Int64, to output: inout [UInt8]) {
        // At most 19 digits and a sign. Unsafe: the memory belongs to this call.
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
            var index = 20
            var rest = value.magnitude
            repeat {
                index -= 1
                digits[index] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            } while rest > 0
            if value < 0 {
                index -= 1
                digits[index] = UInt8(ascii: "-")
            }
            output.append(contentsOf: UnsafeBufferPointer(rebasing: digits[index..<20]))
        }
    }

    public static func bool(_ value: Bool, to output: inout [UInt8]) {
        if value { raw("true", to: &output) } else { raw("false", to: &output) }
    }

    /// Appends a string with its quotes. Escapes only quotes, backslashes and control characters.
    public static func string(_ text: String, to output: inout [UInt8]) {
        var text = text
        text.withUTF8 { utf8 in
            output.append(UInt8(ascii: "\""))
            // Almost all strings need no escape and are appended in one piece.
            var start = 0
            for (index, byte) in utf8.enumerated() where byte < 0x20 || byte == 0x22 || byte == 0x5C {
                output.append(contentsOf: UnsafeBufferPointer(rebasing: utf8[start..<index]))
                escape(byte, to: &output)
                start = index + 1
            }
            output.append(contentsOf: UnsafeBufferPointer(rebasing: utf8[start...]))
            output.append(UInt8(ascii: "\""))
        }
    }

    /// Appends an array of ids.
    public static func identifiers(_ ids: some Sequence<Identifier>, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "["))
        var isFirst = true
        for id in ids {
            if !isFirst { output.append(UInt8(ascii: ",")) }
            isFirst = false
            string(id.string, to: &output)
        }
        output.append(UInt8(ascii: "]"))
    }

    private static func escape(_ byte: UInt8, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "\\"))
        switch byte {
        case 0x22, 0x5C: output.append(byte)
        case 0x08: output.append(UInt8(ascii: "b"))
        case 0x09: output.append(UInt8(ascii: "t"))
        case 0x0A: output.append(UInt8(ascii: "n"))
        case 0x0C: output.append(UInt8(ascii: "f"))
        case 0x0D: output.append(UInt8(ascii: "r"))
        default:
            raw("u00", to: &output)
            output.append(UInt8(ascii: "0") + byte >> 4)
            let low = byte & 0x0F
            output.append(low < 10 ? UInt8(ascii: "0") + low : UInt8(ascii: "a") + low - 10)
        }
    }
}
