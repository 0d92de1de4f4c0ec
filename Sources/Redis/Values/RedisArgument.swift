/// One word of a command: text, bytes or an integer, sent unchanged (Redis knows only strings).
public enum RedisArgument: Hashable, Sendable {
    case string(String)
    case bytes([UInt8])
    case integer(Int64)

    public init(_ value: some BinaryInteger) { self = .integer(Int64(value)) }
    public init(_ value: String) { self = .string(value) }
    public init(_ value: [UInt8]) { self = .bytes(value) }
}

extension RedisArgument: ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral {
    public init(stringLiteral value: String) { self = .string(value) }
    public init(integerLiteral value: Int64) { self = .integer(value) }
}

extension [RedisArgument] {
    /// Their approximate length in a command, in bytes.
    var encodedLength: Int {
        reduce(0) { sum, argument in
            switch argument {
            case .string(let text): sum + text.utf8.count + 8
            case .bytes(let bytes): sum + bytes.count + 8
            case .integer: sum + 16
            }
        }
    }
}
