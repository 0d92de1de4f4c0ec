/// The frames of RFC 6455 as a server sends them: unmasked, never fragmented.
///
/// A message's frame, made once, can be shared by all connections that get it.
///
///     1000 0001 | 0 length < 126                    | text
///     1000 0001 | 0 126          | length, 2 bytes  | text
///     1000 0001 | 0 127          | length, 8 bytes  | text
public enum WebSocketFrame {
    /// The longest header of a frame, in bytes.
    public static let maxHeaderLength = 10

    /// The header of a text frame whose payload has `textLength` bytes.
    public static func header(textLength: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        appendHeader(textLength: textLength, to: &bytes)
        return bytes
    }

    /// Appends the header of a text frame whose payload has `textLength` bytes; the payload must follow.
    public static func appendHeader(textLength length: Int, to bytes: inout [UInt8]) {
        bytes.append(0x81)
        if length < 126 {
            bytes.append(UInt8(length))
        } else if length < 65536 {
            bytes.append(126)
            bytes.append(UInt8(length >> 8))
            bytes.append(UInt8(truncatingIfNeeded: length))
        } else {
            bytes.append(127)
            for shift in stride(from: 56, through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: length >> shift))
            }
        }
    }

    /// Appends `text` as one text frame.
    public static func append(text: some Collection<UInt8>, to bytes: inout [UInt8]) {
        appendHeader(textLength: text.count, to: &bytes)
        bytes.append(contentsOf: text)
    }

    /// `text` as one text frame.
    public static func text(_ text: some Collection<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(maxHeaderLength + text.count)
        append(text: text, to: &bytes)
        return bytes
    }

    /// A ping. It has one byte, because libwebsockets does not report an empty pong.
    public static let ping: [UInt8] = [0x89, 0x01, 0x2e]

    /// Appends the answer to a ping, whose payload has at most 125 bytes.
    static func appendPong(_ payload: UnsafeRawBufferPointer, to bytes: inout [UInt8]) {
        bytes.append(0x8A)
        bytes.append(UInt8(payload.count))
        bytes.append(contentsOf: payload)
    }

    /// The longest reason that fits into a close frame, in bytes.
    public static let maxReasonLength = 123

    /// A close frame. A longer reason is truncated at the end of a character.
    public static func close(code: UInt16, reason: String) -> [UInt8] {
        var cut = Substring(reason)
        while cut.utf8.count > maxReasonLength { cut.removeLast() }
        return [0x88, UInt8(2 + cut.utf8.count), UInt8(code >> 8), UInt8(truncatingIfNeeded: code)] + Array(cut.utf8)
    }
}
