/// The reason why bytes are not one JSON value, and the position of the fault.
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
    /// The offset, from 0, of the first wrong byte.
    public var offset: Int

    public init(_ reason: Reason, at offset: Int) {
        self.reason = reason
        self.offset = offset
    }
}
