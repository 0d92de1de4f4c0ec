/// Strings and numbers.
extension JSONScanner {
    /// Reads a string whose opening quote is at the cursor.
    mutating func scanString() throws(JSONError) -> JSONValue {
        cursor += 1
        let first = cursor
        var isEscaped = false
        while true {
            skipPlainBytes()
            guard cursor < end else { throw failure(.truncated) }
            switch cursor.load(as: UInt8.self) {
            case UInt8(ascii: "\""):
                let string = JSONValue(.string, from: first, to: cursor, isEscaped: isEscaped)
                cursor += 1
                return string
            case UInt8(ascii: "\\"):
                isEscaped = true
                try scanEscape()
            case 0..<0x20: throw failure(.controlCharacter)
            case 0x20..<0x80: cursor += 1
            default: try scanMultibyte()
            }
        }
    }

    /// Skips eight bytes at a time while none of them is a quote, a backslash, a control character or beyond ASCII, and
    /// then up to the first byte that is. The caller handles fewer than eight bytes at the text's end.
    @inline(__always)
    private mutating func skipPlainBytes() {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let highBits = ones &* 0x80
        while end - cursor >= 8 {
            let word = UInt64(littleEndian: cursor.loadUnaligned(as: UInt64.self))
            let quotes = word ^ (ones &* 0x22)
            let backslashes = word ^ (ones &* 0x5C)
            // A byte's high bit is set below if the byte matches the line's test. A borrow can also set it in a byte
            // that does not match, but only after a byte that does, and only the first match is used.
            var found = (quotes &- ones) & ~quotes
            found |= (backslashes &- ones) & ~backslashes
            found |= (word &- ones &* 0x20) & ~word
            found = (found | word) & highBits
            if found != 0 {
                cursor += found.trailingZeroBitCount / 8
                return
            }
            cursor += 8
        }
    }

    private mutating func scanEscape() throws(JSONError) {
        cursor += 1
        guard cursor < end else { throw failure(.truncated) }
        switch cursor.load(as: UInt8.self) {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            cursor += 1
        case UInt8(ascii: "u"):
            cursor += 1
            let unit = try scanCodeUnit()
            if (0xDC00...0xDFFF).contains(unit) { throw failure(.loneSurrogate) }
            guard (0xD800...0xDBFF).contains(unit) else { return }
            try skip(UInt8(ascii: "\\"), orFailWith: .loneSurrogate)
            try skip(UInt8(ascii: "u"), orFailWith: .loneSurrogate)
            guard (0xDC00...0xDFFF).contains(try scanCodeUnit()) else { throw failure(.loneSurrogate) }
        default: throw failure(.invalidEscape)
        }
    }

    /// Reads the four digits after `\u`.
    private mutating func scanCodeUnit() throws(JSONError) -> UInt32 {
        guard end - cursor >= 4 else { throw failure(.truncated) }
        guard let unit = hexadecimal(at: cursor) else { throw failure(.invalidEscape) }
        cursor += 4
        return unit
    }

    private mutating func skip(_ byte: UInt8, orFailWith reason: JSONError.Reason) throws(JSONError) {
        guard cursor < end else { throw failure(.truncated) }
        guard cursor.load(as: UInt8.self) == byte else { throw failure(reason) }
        cursor += 1
    }

    /// Reads one character beyond ASCII: no overlong form, no surrogate, nothing past U+10FFFF (RFC 3629).
    private mutating func scanMultibyte() throws(JSONError) {
        let lead = cursor.load(as: UInt8.self)
        let length: Int
        var second: ClosedRange<UInt8> = 0x80...0xBF
        switch lead {
        case 0xC2...0xDF: length = 2
        case 0xE0: (length, second) = (3, 0xA0...0xBF)
        case 0xED: (length, second) = (3, 0x80...0x9F)
        case 0xE1...0xEF: length = 3
        case 0xF0: (length, second) = (4, 0x90...0xBF)
        case 0xF4: (length, second) = (4, 0x80...0x8F)
        case 0xF1...0xF3: length = 4
        default: throw failure(.invalidUTF8)
        }
        guard end - cursor >= length else { throw failure(.truncated) }
        guard second.contains((cursor + 1).load(as: UInt8.self)) else { throw failure(.invalidUTF8) }
        for index in 2..<max(length, 2) where (cursor + index).load(as: UInt8.self) & 0xC0 != 0x80 {
            throw failure(.invalidUTF8)
        }
        cursor += length
    }

    /// Reads a number and checks its grammar. The value is computed only on demand.
    mutating func scanNumber() throws(JSONError) -> JSONValue {
        let first = cursor
        if cursor.load(as: UInt8.self) == UInt8(ascii: "-") { cursor += 1 }
        let leading = cursor
        guard skipDigits() > 0 else { throw numberFailure() }
        if leading.load(as: UInt8.self) == UInt8(ascii: "0"), cursor - leading > 1 { throw failure(.invalidNumber) }
        if cursor < end, cursor.load(as: UInt8.self) == UInt8(ascii: ".") {
            cursor += 1
            guard skipDigits() > 0 else { throw numberFailure() }
        }
        if cursor < end, cursor.load(as: UInt8.self) | 0x20 == UInt8(ascii: "e") {
            cursor += 1
            if cursor < end {
                let sign = cursor.load(as: UInt8.self)
                if sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") { cursor += 1 }
            }
            guard skipDigits() > 0 else { throw numberFailure() }
        }
        return JSONValue(.number, from: first, to: cursor)
    }

    private mutating func skipDigits() -> Int {
        let first = cursor
        while cursor < end, cursor.load(as: UInt8.self) &- UInt8(ascii: "0") < 10 { cursor += 1 }
        return cursor - first
    }

    private func numberFailure() -> JSONError {
        failure(cursor < end ? .invalidNumber : .truncated)
    }
}

/// The value of the four hexadecimal digits at `address`, or `nil` if they are not digits.
func hexadecimal(at address: UnsafeRawPointer) -> UInt32? {
    var unit: UInt32 = 0
    for index in 0..<4 {
        let byte = (address + index).load(as: UInt8.self)
        let digit: UInt8
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = byte - UInt8(ascii: "A") + 10
        default: return nil
        }
        unit = unit << 4 | UInt32(digit)
    }
    return unit
}
