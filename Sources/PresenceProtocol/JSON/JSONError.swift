/// Why bytes are not one JSON value, and where that showed.
public struct JSONError: Error, Hashable, Sendable {
    public enum Reason: String, Sendable {
        case truncated = "the text ends too early"
        case unexpectedByte = "unexpected character"
        case controlCharacter = "control character in a string"
        case invalidEscape = "invalid escape in a string"
        case loneSurrogate = "lone surrogate in a string"
        case invalidUTF8 = "invalid UTF-8"
        case invalidNumber = "invalid number"
        case tooDeep = "nested too deeply"
        case trailingBytes = "something follows the value"
    }

    public var reason: Reason
    /// The byte, counted from 0, at which the text stopped being right.
    public var offset: Int

    public init(_ reason: Reason, at offset: Int) {
        self.reason = reason
        self.offset = offset
    }
}
