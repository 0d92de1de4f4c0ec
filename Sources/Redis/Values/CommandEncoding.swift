/// Commands in Redis' format: an array of bulk strings.
///
///     *2\r\n$3\r\nGET\r\n$3\r\nkey\r\n
extension [UInt8] {
    mutating func append(command arguments: [RedisArgument]) {
        appendHeader("*", arguments.count)
        for argument in arguments { append(argument: argument) }
    }

    /// `EVALSHA sha numkeys key… argument…`
    mutating func append(evaluating script: RedisScript, keys: [RedisArgument], arguments: [RedisArgument]) {
        appendHeader("*", 3 + keys.count + arguments.count)
        append(contentsOf: script.evalsha)
        append(argument: .integer(Int64(keys.count)))
        for key in keys { append(argument: key) }
        for argument in arguments { append(argument: argument) }
    }

    /// The same for plain text: the arguments are `first` and then `arguments`.
    mutating func append(evaluating script: RedisScript, keys: [String], first: String, arguments: [String]) {
        appendHeader("*", 4 + keys.count + arguments.count)
        append(contentsOf: script.evalsha)
        append(argument: .integer(Int64(keys.count)))
        for key in keys { append(text: key) }
        append(text: first)
        for argument in arguments { append(text: argument) }
    }

    private mutating func append(text: String) {
        appendHeader("$", text.utf8.count)
        append(contentsOf: text.utf8)
        appendLineEnd()
    }

    mutating func append(argument: RedisArgument) {
        switch argument {
        case .string(let text): return append(text: text)
        case .bytes(let bytes):
            appendHeader("$", bytes.count)
            append(contentsOf: bytes)
        case .integer(let value):
            appendHeader("$", value.decimalLength)
            append(decimal: value)
        }
        appendLineEnd()
    }

    private mutating func appendHeader(_ kind: Unicode.Scalar, _ count: Int) {
        append(UInt8(ascii: kind))
        append(decimal: Int64(count))
        appendLineEnd()
    }

    private mutating func appendLineEnd() {
        append(UInt8(ascii: "\r"))
        append(UInt8(ascii: "\n"))
    }

    /// Appends the digits without making a `String`: every argument has some, mostly one or two.
    private mutating func append(decimal value: Int64) {
        guard !(0..<100).contains(value) else {
            if value >= 10 { append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value / 10)) }
            return append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value % 10))
        }
        if value < 0 { append(UInt8(ascii: "-")) }
        let start = count
        var rest = value.magnitude
        repeat {
            append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
            rest /= 10
        } while rest > 0
        self[start...].reverse()
    }
}

extension Int64 {
    /// The number of bytes that `append(decimal:)` writes.
    fileprivate var decimalLength: Int {
        var length = self < 0 ? 2 : 1
        var rest = magnitude
        while rest >= 10 {
            rest /= 10
            length += 1
        }
        return length
    }
}
