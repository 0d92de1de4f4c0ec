import WebSockets

/// Messages that are the same for every client, framed once.
enum StaticFrames {
    package static let live = WebSocketFrame.text(#"{"type":"live"}"#.utf8)
}
