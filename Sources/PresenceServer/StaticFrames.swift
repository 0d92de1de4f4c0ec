import WebSockets

/// Messages that are the same for everyone, framed once.
enum StaticFrames {
    static let live = framed(#"{"type":"live"}"#)

    static func framed(_ text: String) -> [UInt8] {
        var frame: [UInt8] = []
        WebSocketFrame.append(text: Array(text.utf8), to: &frame)
        return frame
    }
}
