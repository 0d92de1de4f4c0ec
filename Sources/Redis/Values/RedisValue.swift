/// An answer of Redis.
public enum RedisValue: Hashable, Sendable {
    case null
    case integer(Int64)
    /// A bulk string: any bytes.
    case bytes([UInt8])
    /// A short answer such as `OK`.
    case status(String)
    case array([RedisValue])
    /// An error inside an array, as `EXEC` and scripts can return; an error as the whole answer is a `RedisFailure`.
    case error(String)
}

extension RedisValue {
    public var isNull: Bool { self == .null }

    /// The integer, also when Redis sent it as text (`GET` of a counter); `nil` for anything else.
    public var int: Int64? {
        switch self {
        case .integer(let value): value
        case .bytes(let bytes): Self.text(bytes).flatMap(Int64.init)
        case .status(let text): Int64(text)
        case .null, .array, .error: nil
        }
    }

    /// The text of a status or of a bulk string that is UTF-8; `nil` for anything else.
    public var string: String? {
        switch self {
        case .status(let text): text
        case .bytes(let bytes): Self.text(bytes)
        case .null, .integer, .array, .error: nil
        }
    }

    /// Most texts are short, and ASCII: the standard library validates those at five times the cost.
    private static func text(_ bytes: [UInt8]) -> String? {
        guard bytes.allSatisfy({ $0 < 0x80 }) else { return String(validating: bytes, as: UTF8.self) }
        return String(unsafeUninitializedCapacity: bytes.count) { $0.update(fromContentsOf: bytes) }
    }

    /// The bytes of a bulk string or a status; `nil` for anything else.
    public var bytes: [UInt8]? {
        switch self {
        case .bytes(let bytes): bytes
        case .status(let text): Array(text.utf8)
        case .null, .integer, .array, .error: nil
        }
    }

    /// The elements of an array; `nil` for anything else.
    public var array: [RedisValue]? {
        if case .array(let elements) = self { elements } else { nil }
    }
}
