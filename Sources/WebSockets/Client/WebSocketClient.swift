import CLibWebSockets
import EventLoops
import Glibc

/// One WebSocket connection to a server, by libwebsockets. Confined to its loop's thread.
///
/// Messages are sent in order, from a queue without a limit: a caller that may be faster than the server should check
/// `queuedBytes`. libwebsockets answers the server's pings.
public final class WebSocketClient {
    let shared: WebSocketClientContext
    weak var delegate: (any WebSocketClientDelegate)?

    /// A longer message closes with 1009.
    public static let maxMessageBytes = 16 * 1024 * 1024
    /// The time limit for the server's answer to our close frame, in milliseconds.
    private static let closeTimeout: Int64 = 3_000

    /// LWS_WRITE_CLOSE, which is missing from libwebsockets' public headers.
    private static let closeFrame = lws_write_protocol(4)

    enum State {
        case idle, connecting, open, closing, over
    }

    var state = State.idle
    /// libwebsockets' connection, from dialling until its last callback. While it exists it retains this object.
    var wsi: OpaquePointer?
    private var url = WebSocketURL(isSecure: false, host: "", port: 0, path: "/")
    private(set) var headers: [(name: String, value: String)] = []
    private var subprotocol: String?
    /// Addresses that have not been tried yet.
    private var addresses: ArraySlice<String> = []
    private var timer: LoopTimer?

    /// Frames to be sent, each with room for its header in front. The close frame is the last one.
    private var outbox: [(bytes: [UInt8], kind: lws_write_protocol)] = []
    private var sent = 0
    /// The bytes of queued messages.
    public private(set) var queuedBytes = 0
    var hasQueued: Bool { !outbox.isEmpty }

    var message: [UInt8] = []
    var acceptedSubprotocol: String?
    var closure: Closure?
    private var ownCode: UInt16 = 0

    /// - Parameter delegate: referenced weakly.
    public init(context: WebSocketClientContext, delegate: any WebSocketClientDelegate) {
        shared = context
        self.delegate = delegate
    }

    // MARK: - Verbs

    /// Connects; `opened` or `closed` follows. Once only.
    ///
    /// - Parameters:
    ///   - headers: for the request, in addition to those of the handshake.
    ///   - handshakeTimeout: milliseconds for everything from the name lookup to the server's answer.
    public func connect(
        to url: WebSocketURL, headers: [(name: String, value: String)] = [], subprotocol: String? = nil,
        handshakeTimeout: Int64 = 10_000
    ) {
        precondition(state == .idle, "a WebSocketClient connects once")
        state = .connecting
        self.url = url
        self.headers = headers
        self.subprotocol = subprotocol
        timer = LoopTimer(shared.loop) { [unowned self] in timedOut() }
        timer?.set(after: handshakeTimeout)
        let me = OnLoop(client: self)
        let loop = shared.loop
        NameLookup.start(url.host) { result in
            loop.execute { me.client.found(result) }
        }
    }

    /// Queues one text message. Does nothing unless the connection is open.
    public func send(text: UnsafeRawBufferPointer) {
        guard state == .open else { return }
        enqueue(text, LWS_WRITE_TEXT)
    }

    /// Sends a close frame after the queued messages, waits for the server's close frame, and ends; then `closed` is
    /// called.
    public func close(code: UInt16 = 1000, reason: String = "") {
        guard state == .open else { return abort() }
        state = .closing
        ownCode = code
        // Without the frame's header, which libwebsockets writes.
        WebSocketFrame.close(code: code, reason: reason).dropFirst(2).withUnsafeBytes { enqueue($0, Self.closeFrame) }
        timer?.set(after: Self.closeTimeout)
    }

    /// Ends the connection or the attempt without a close frame, soon after this call.
    public func abort() {
        guard state != .idle && state != .over else { return }
        closure = closure ?? .lost
        let me = OnLoop(client: self)
        shared.loop.execute { me.client.end() }
    }

    // MARK: - Dialling

    private func found(_ result: Result<[String], NameLookup.Failure>) {
        guard state == .connecting, closure == nil else { return }
        switch result {
        case .success(let found):
            addresses = found[...]
            dialNext()
        case .failure(let failure):
            closure = .failed(failure.reason)
            finish()
        }
    }

    private func dialNext() {
        guard let address = addresses.popFirst(), let context = shared.context else {
            closure = closure ?? .failed("\(url.host) has no address")
            return finish()
        }
        closure = nil
        let strings = [address, url.path, url.hostHeader, "client", "http/1.1", subprotocol].map { text in
            text.flatMap { strdup($0) }
        }
        defer { for string in strings { free(string) } }
        var info = lws_client_connect_info()
        info.context = context.raw
        info.address = UnsafePointer(strings[0])
        info.port = Int32(url.port)
        info.path = UnsafePointer(strings[1])
        info.host = UnsafePointer(strings[2])
        info.local_protocol_name = UnsafePointer(strings[3])
        info.alpn = UnsafePointer(strings[4])
        info.protocol = UnsafePointer(strings[5])
        info.ietf_version_or_minus_one = -1
        info.ssl_connection =
            Int32(LCCSCF_HTTP_NO_FOLLOW_REDIRECT.rawValue) | (url.isSecure ? Int32(LCCSCF_USE_SSL.rawValue) : 0)
        // Retained until libwebsockets' last callback for the connection, which releases it.
        info.opaque_user_data = Unmanaged.passRetained(self).toOpaque()
        // The next call may make callbacks before it returns: the one that reports a failure, and the last one.
        isForgotten = false
        let dialled = lws_client_connect_via_info(&info)
        if isForgotten { return }
        if let dialled {
            wsi = dialled
        } else {
            // The attempt failed before there was a connection that could call back: release the reference here.
            Unmanaged<WebSocketClient>.fromOpaque(info.opaque_user_data).release()
            closure = closure ?? .failed("\(address) port \(url.port): no connection")
            forgotten()
        }
    }

    /// The last callback was made inside `lws_client_connect_via_info`.
    private var isForgotten = false

    // MARK: - Reports of libwebsockets

    func handshakeFailed(_ text: String) {
        if closure == nil { closure = .failed(Self.plain(text)) }
    }

    /// OpenSSL's error numbers do not help people.
    private static func plain(_ text: String) -> String {
        guard text.hasPrefix("connect SSL err") else { return text }
        return "no TLS handshake: the port may be for plain ws (\(text))"
    }

    func established() {
        guard closure == nil else { return abort() }
        state = .open
        timer?.cancel()
        delegate?.opened(self, subprotocol: acceptedSubprotocol)
    }

    /// Handles the server's close frame. Returns whether to close immediately, instead of answering it.
    func serverCloses(_ payload: UnsafeRawBufferPointer) -> Bool {
        if state == .closing && closure == nil {
            closure = .byClient(code: ownCode, clean: true)
            return true
        }
        state = .closing
        if payload.count >= 2 {
            let reason = UnsafeRawBufferPointer(rebasing: payload.dropFirst(2))
            let code = shared.closeCode(UInt16(payload[0]) << 8 | UInt16(payload[1]), reason: reason)
            closure = .byServer(code: code, reason: String(decoding: reason, as: UTF8.self))
        } else {
            closure = .byServer(code: nil, reason: "")
        }
        timer?.set(after: Self.closeTimeout)
        return false
    }

    /// The last callback of libwebsockets for this connection.
    func forgotten() {
        if wsi == nil { isForgotten = true }
        wsi = nil
        if case .failed = closure, state == .connecting, !addresses.isEmpty {
            // Dials later, because this runs inside libwebsockets' callback.
            let me = OnLoop(client: self)
            return shared.loop.execute {
                if me.client.state == .connecting { me.client.dialNext() }
            }
        }
        finish()
    }

    // MARK: - Ends

    private func timedOut() {
        closure = closure ?? (state == .closing ? .byClient(code: ownCode, clean: false) : .failed("timed out"))
        addresses = []
        end()
    }

    private func end() {
        if let wsi {
            addresses = []
            clws_kill(wsi, true)
        } else {
            finish()
        }
    }

    private func finish() {
        guard state != .over else { return }
        let ended: Closure = closure ?? (ownCode != 0 ? .byClient(code: ownCode, clean: false) : .lost)
        state = .over
        timer = nil
        outbox = []
        message = []
        queuedBytes = 0
        let me = OnLoop(client: self)
        shared.loop.execute { me.client.delegate?.closed(me.client, ended) }
    }

    // MARK: - Sending

    private func enqueue(_ payload: UnsafeRawBufferPointer, _ kind: lws_write_protocol) {
        var bytes = [UInt8](repeating: 0, count: Int(clws_pre) + payload.count)
        bytes.withUnsafeMutableBytes {
            UnsafeMutableRawBufferPointer(rebasing: $0[Int(clws_pre)...]).copyMemory(from: payload)
        }
        outbox.append((bytes, kind))
        queuedBytes += payload.count
        if let wsi { lws_callback_on_writable(wsi) }
    }

    /// Called when the socket can be written: writes until a part of a message must wait. Returns false if the
    /// connection broke.
    func flush(_ wsi: OpaquePointer) -> Bool {
        // Sends several messages in as few packets as possible.
        let holdsBack = outbox.count - sent > 1
        if holdsBack { clws_hold_back(wsi, true) }
        defer { if holdsBack { clws_hold_back(wsi, false) } }
        while sent < outbox.count, lws_partial_buffered(wsi) == 0 {
            let length = outbox[sent].bytes.count - Int(clws_pre)
            let kind = outbox[sent].kind
            // libwebsockets masks the bytes in place, and writes the header in front of them.
            let written = outbox[sent].bytes.withUnsafeMutableBufferPointer { buffer in
                lws_write(wsi, buffer.baseAddress! + Int(clws_pre), length, kind)
            }
            guard written >= 0 else { return false }
            queuedBytes -= length
            outbox[sent].bytes = []
            sent += 1
        }
        if sent == outbox.count {
            outbox.removeAll(keepingCapacity: true)
            sent = 0
        } else {
            lws_callback_on_writable(wsi)
        }
        return true
    }

    // @unchecked: carries the client through a queue back to its own loop, the only place where it is used.
    private struct OnLoop: @unchecked Sendable {
        let client: WebSocketClient
    }
}
