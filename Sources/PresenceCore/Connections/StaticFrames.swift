import WebSockets

/// Messages that are the same for everyone, framed once.
enum StaticFrames {
    package static let live = WebSocketFrame.text(#"{"type":"live"}"#.utf8)
}
