/// A strict reader of one JSON text (RFC 8259) in UTF-8 without a tree: its caller pulls keys, elements and values.
///
///     try scanner.beginObject()
///     while let key = try scanner.nextKey() {
///         let value = try scanner.value()
///     }
///     try scanner.finish()
///
/// It also rejects nesting deeper than 32, invalid UTF-8 and lone surrogates. Every byte is checked exactly once, also
/// in values that are skipped. It allocates nothing.
///
/// Unsafe: the scanner and its results point into the bytes given to `init`. The caller owns the bytes and keeps them
/// in place while the scanner or a result is in use; in practice all live inside one `withUnsafeBytes`, on one thread.
public struct JSONScanner {
    /// Deeper nesting is rejected: no message of the protocol needs more than five levels.
    public static let maximumDepth = 32

    /// The limit for messages of servers. They contain objects from other clients, which were within the smaller limit
    /// when they arrived. (A container that is skipped has a bit for each level.)
    static let maximumDepthOfServers = 64

    /// Deeper nesting is rejected.
    var maximumDepth = Self.maximumDepth
    let start: UnsafeRawPointer
    let end: UnsafeRawPointer
    var cursor: UnsafeRawPointer
    /// The number of open containers.
    var depth = 0
    /// A container was just opened: its first key or element follows without a comma.
    private var isFirst = false

    public init(_ bytes: UnsafeRawBufferPointer) {
        // An empty buffer may have no address. The replacement is never read, since the end has the same address.
        start = bytes.baseAddress ?? UnsafeRawPointer(bitPattern: 1)!
        end = start + bytes.count
        cursor = start
    }

    /// Reads the members of an object whose opening brace is already consumed, up to its end.
    public init(members bytes: UnsafeRawBufferPointer) {
        self.init(bytes)
        depth = 1
        isFirst = true
    }

    /// Reads inside a value that an earlier scan returned, from its first byte.
    public init(_ value: JSONValue) {
        start = value.start
        end = value.start + value.count
        cursor = start
    }

    // MARK: Pulling

    /// The kind of the next value, by its first byte. Consumes nothing.
    public mutating func peek() throws(JSONError) -> JSONValue.Kind {
        switch try nextByte() {
        case UInt8(ascii: "\""): return .string
        case UInt8(ascii: "{"): return .object
        case UInt8(ascii: "["): return .array
        case UInt8(ascii: "t"), UInt8(ascii: "f"): return .bool
        case UInt8(ascii: "n"): return .null
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number
        default: throw failure(.unexpectedByte)
        }
    }

    public mutating func beginObject() throws(JSONError) {
        try begin(with: UInt8(ascii: "{"))
    }

    public mutating func beginArray() throws(JSONError) {
        try begin(with: UInt8(ascii: "["))
    }

    /// The next member's key, after which its value must be read; `nil` at the end of the object, which is consumed.
    public mutating func nextKey() throws(JSONError) -> JSONValue? {
        guard try advance(orCloseWith: UInt8(ascii: "}")) else { return nil }
        guard try nextByte() == UInt8(ascii: "\"") else { throw failure(.unexpectedByte) }
        let key = try scanString()
        guard try nextByte() == UInt8(ascii: ":") else { throw failure(.unexpectedByte) }
        cursor += 1
        return key
    }

    /// Whether another element follows, which must then be read; `false` at the end of the array, which is consumed.
    public mutating func nextElement() throws(JSONError) -> Bool {
        try advance(orCloseWith: UInt8(ascii: "]"))
    }

    /// Reads one whole value, nested ones included, and returns its position.
    // Copies of it in all decoders would double the time to compile this module.
    @inline(never)
    public mutating func value() throws(JSONError) -> JSONValue {
        let byte = try nextByte()
        let first = cursor
        switch byte {
        case UInt8(ascii: "\""): return try scanString()
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            try skipContainer()
            return JSONValue(byte == UInt8(ascii: "{") ? .object : .array, from: first, to: cursor)
        case UInt8(ascii: "t"): return try scanWord("true", .bool)
        case UInt8(ascii: "f"): return try scanWord("false", .bool)
        case UInt8(ascii: "n"): return try scanWord("null", .null)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try scanNumber()
        default: throw failure(.unexpectedByte)
        }
    }

    /// Only white space may follow the one value.
    public mutating func finish() throws(JSONError) {
        skipWhitespace()
        guard cursor == end else { throw failure(.trailingBytes) }
    }

    // MARK: Containers

    private mutating func begin(with bracket: UInt8) throws(JSONError) {
        guard try nextByte() == bracket else { throw failure(.unexpectedByte) }
        guard depth < maximumDepth else { throw failure(.tooDeep) }
        depth += 1
        cursor += 1
        isFirst = true
    }

    /// Skips the comma before a key or an element. At the closing bracket, consumes it and returns `false`.
    private mutating func advance(orCloseWith bracket: UInt8) throws(JSONError) -> Bool {
        let byte = try nextByte()
        let wasFirst = isFirst
        isFirst = false
        if byte == bracket {
            cursor += 1
            depth -= 1
            return false
        }
        if wasFirst { return true }
        guard byte == UInt8(ascii: ",") else { throw failure(.unexpectedByte) }
        cursor += 1
        return true
    }

    /// Skips an object or an array without recursion, so that a hostile message cannot control the depth of the stack.
    private mutating func skipContainer() throws(JSONError) {
        let outer = depth
        var areObjects: UInt64 = 0  // One bit for each open container, the innermost lowest.
        repeat {
            let kind = try peek()
            switch kind {
            case .object, .array:
                try begin(with: kind == .object ? UInt8(ascii: "{") : UInt8(ascii: "["))
                areObjects = areObjects << 1 | (kind == .object ? 1 : 0)
            default: _ = try value()
            }
            while depth > outer {
                let goesOn = areObjects & 1 == 1 ? try nextKey() != nil : try nextElement()
                if goesOn { break }
                areObjects >>= 1
            }
        } while depth > outer
    }

    // MARK: Bytes

    /// The next byte that is not white space, without consuming it.
    @inline(__always)
    private mutating func nextByte() throws(JSONError) -> UInt8 {
        skipWhitespace()
        guard cursor < end else { throw failure(.truncated) }
        return cursor.load(as: UInt8.self)
    }

    @inline(__always)
    private mutating func skipWhitespace() {
        while cursor < end {
            let byte = cursor.load(as: UInt8.self)
            guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return }
            cursor += 1
        }
    }

    private mutating func scanWord(_ word: StaticString, _ kind: JSONValue.Kind) throws(JSONError) -> JSONValue {
        let first = cursor
        for index in 0..<word.utf8CodeUnitCount {
            guard cursor < end else { throw failure(.truncated) }
            guard cursor.load(as: UInt8.self) == word.utf8Start[index] else { throw failure(.unexpectedByte) }
            cursor += 1
        }
        return JSONValue(kind, from: first, to: cursor)
    }

    func failure(_ reason: JSONError.Reason) -> JSONError {
        JSONError(reason, at: cursor - start)
    }
}
