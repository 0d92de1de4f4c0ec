/// The position and kind of a value in a JSON text that a `JSONScanner` has read and checked.
///
/// A view: it owns nothing, must not outlive the scanned bytes, and makes Swift values only on demand.
public struct JSONValue {
    public enum Kind: Sendable {
        case object, array, string, number, bool, null
    }

    public let kind: Kind
    /// Whether a string contains escapes, so that its bytes are not its text.
    package let isEscaped: Bool
    /// The first byte; for a string, the one after the quote. Owned by the scanner's caller.
    let start: UnsafeRawPointer
    /// The number of bytes; for a string, without its quotes.
    let count: Int

    init(_ kind: Kind, from start: UnsafeRawPointer, to end: UnsafeRawPointer, isEscaped: Bool = false) {
        self.kind = kind
        self.isEscaped = isEscaped
        self.start = start
        count = end - start
    }

    /// The value as written in the text (a string without quotes, with its escapes).
    public var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: count) }

    /// The value of `true` and `false`, `nil` for any other kind.
    public var bool: Bool? {
        kind == .bool ? count == 4 : nil
    }

    /// The text of a string, `nil` for any other kind.
    public var string: String? {
        guard kind == .string else { return nil }
        guard isEscaped else { return String(decoding: bytes, as: UTF8.self) }
        // Unescaped text is never longer than its escaped form.
        return String(unsafeUninitializedCapacity: count) { unescape(into: $0) }
    }

    /// Whether this is a string with exactly this text, compared byte by byte.
    @inline(__always)
    public func equals(_ text: StaticString) -> Bool {
        guard kind == .string else { return false }
        if isEscaped { return equalsUnescaped(text) }
        guard count == text.utf8CodeUnitCount else { return false }
        for index in 0..<count where (start + index).load(as: UInt8.self) != text.utf8Start[index] { return false }
        return true
    }

    private func equalsUnescaped(_ text: StaticString) -> Bool {
        let expected = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        return string.map { $0.utf8.elementsEqual(expected) } ?? false
    }

    /// Writes the string's text and returns its length. The scanner has checked every escape.
    private func unescape(into output: UnsafeMutableBufferPointer<UInt8>) -> Int {
        var length = 0
        var index = 0
        while index < count {
            let byte = (start + index).load(as: UInt8.self)
            index += 1
            guard byte == UInt8(ascii: "\\") else {
                output[length] = byte
                length += 1
                continue
            }
            let letter = (start + index).load(as: UInt8.self)
            index += 1
            if letter == UInt8(ascii: "u") {
                for unit in UTF8.encode(unescapeScalar(at: &index))! {
                    output[length] = unit
                    length += 1
                }
                continue
            }
            switch letter {
            case UInt8(ascii: "b"): output[length] = 0x08
            case UInt8(ascii: "f"): output[length] = 0x0C
            case UInt8(ascii: "n"): output[length] = 0x0A
            case UInt8(ascii: "r"): output[length] = 0x0D
            case UInt8(ascii: "t"): output[length] = 0x09
            default: output[length] = letter
            }
            length += 1
        }
        return length
    }

    /// Reads `XXXX`, and for a high surrogate also the `\uXXXX` of the low one.
    private func unescapeScalar(at index: inout Int) -> Unicode.Scalar {
        var scalar = hexadecimal(at: start + index) ?? 0xFFFD
        index += 4
        if (0xD800...0xDBFF).contains(scalar) {
            let low = hexadecimal(at: start + index + 2) ?? 0xDC00
            index += 6
            scalar = 0x10000 + (scalar - 0xD800) << 10 + (low - 0xDC00)
        }
        return Unicode.Scalar(scalar) ?? "\u{FFFD}"
    }
}
