import CLibWebSockets
import EventLoops

/// The state that all WebSocket clients of one loop share. Confined to the loop's thread; `destroy` it before the loop
/// stops.
public final class WebSocketClientContext {
    let loop: EventLoop
    private(set) var context: LibWebSockets.Context?
    private static let serviceBuffer = 32 * 1024
    /// The buffer in which libwebsockets makes handshakes and receives bytes; see `closeCode`. Owned by libwebsockets'
    /// context.
    private var buffer: UnsafeRawBufferPointer?

    /// - Parameters:
    ///   - tls: whether wss is needed: it requires reading the system's certificates.
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
                // Longer than the time-out of any of our handshakes.
                timeoutSeconds: 3600,
                serviceBuffer: UInt32(Self.serviceBuffer),
                tls: tls ? .dials(authorities: authorities) : .none,
                // Unretained: the context is destroyed before this object is released.
                user: Unmanaged.passUnretained(self).toOpaque(),
                callback: clientCallback))
    }

    deinit {
        precondition(context == nil, "a WebSocketClientContext must be destroyed before it is released")
    }

    /// Ends the remaining connections, whose delegates get `closed`, and frees everything.
    public func destroy() {
        context?.destroy()
        context = nil
    }

    /// Records where the service buffer is. libwebsockets makes a handshake at the buffer's beginning, and reports the
    /// room that is left after `position`, without the 12 bytes that it reserves at the end.
    func locateBuffer(position: UnsafeRawPointer, left: Int) {
        let end = position + left + 12
        buffer = UnsafeRawBufferPointer(start: end - Self.serviceBuffer, count: Self.serviceBuffer)
    }

    /// The code that the server actually sent.
    ///
    /// In the frame that it passes on, libwebsockets 4.1.6 replaces unknown codes with 1002, among them 1012 and 1013,
    /// which mean "reconnect later". The original frame is still in the service buffer. A server's frames are not
    /// masked, so the original can be found by its header and reason. If it is not there, because it arrived in two
    /// pieces, the code stays 1002.
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
