import WebSockets

/// Messages that are the same for everyone, framed once.
enum StaticFrames {
    static let live = WebSocketFrame.text(#"{"type":"live"}"#.utf8)
}
