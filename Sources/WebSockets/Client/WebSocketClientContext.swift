import CLibWebSockets
import EventLoops

/// What all WebSocket clients of one loop share. Confined to the loop's thread; `destroy` it before the loop stops.
public final class WebSocketClientContext {
    let loop: EventLoop
    private(set) var context: LibWebSockets.Context?
    private static let serviceBuffer = 32 * 1024
    /// Where libwebsockets makes handshakes and reads to; see `closeCode`. Its owner is the context.
    private var buffer: UnsafeRawBufferPointer?

    /// - Parameters:
    ///   - tls: whether wss is needed: it costs reading the system's certificates.
    ///   - authorities: a PEM file of the only authorities to trust; nil for the system's.
    /// - Throws: `WebSocketError`.
    public init(loop: EventLoop, tls: Bool = true, authorities: String? = nil) throws {
        self.loop = loop
        context = try LibWebSockets.Context(
            on: loop,
            LibWebSockets.ContextSetting(
                subprotocols: ["client"],
                receiveBuffer: 4096,
                maxHeaderBytes: 16 * 1024,
                headerPool: 0,
                // Longer than any handshake's time-out of ours.
                timeoutSeconds: 3600,
                serviceBuffer: UInt32(Self.serviceBuffer),
                tls: tls ? .dials(authorities: authorities) : .none,
                // Unretained: the context is destroyed before this object goes.
                user: Unmanaged.passUnretained(self).toOpaque(),
                callback: clientCallback))
    }

    deinit {
        precondition(context == nil, "a WebSocketClientContext must be destroyed before it goes")
    }

    /// Ends what is left of its connections, whose delegates hear of it, and frees everything.
    public func destroy() {
        context?.destroy()
        context = nil
    }

    /// Learns where the service buffer lies: handshakes are made at its beginning, and libwebsockets says how much of
    /// it is left behind `position` (it keeps 12 bytes back).
    func locateBuffer(position: UnsafeRawPointer, left: Int) {
        let end = position + left + 12
        buffer = UnsafeRawBufferPointer(start: end - Self.serviceBuffer, count: Self.serviceBuffer)
    }

    /// The code that the server really sent.
    ///
    /// libwebsockets 4.1.6 overwrites codes that it does not know in the frame that it hands us with 1002, among them
    /// 1012 and 1013, which mean "come back later". The frame as it was read still lies in the service buffer: a
    /// server's frames are not masked, so it is found by its header and its reason. If it is not there (it came in two
    /// pieces), 1002 stays.
    func closeCode(_ code: UInt16, reason: UnsafeRawBufferPointer) -> UInt16 {
        guard code == 1002, let buffer else { return code }
        let length = 4 + reason.count
        var start = 0
        while start + length <= buffer.count {
            defer { start += 1 }
            guard buffer[start] == 0x88, Int(buffer[start + 1]) == 2 + reason.count,
                buffer[(start + 4)..<(start + length)].elementsEqual(reason)
            else { continue }
            let found = UInt16(buffer[start + 2]) << 8 | UInt16(buffer[start + 3])
            if found >= 1000 && found < 5000 { return found }
        }
        return code
    }
}
