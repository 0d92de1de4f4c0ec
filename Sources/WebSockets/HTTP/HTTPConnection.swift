import EventLoops

/// A connection before it is a WebSocket: its requests, one after the other, and the answers.
///
///     greeting ─▶ shaking ─┐ (TLS only)
///                          ▼
///                        head ◀──────────────────┐
///                          │ ─▶ body ─┐          │ kept         (judging: between head and body)
///                          ▼          ▼          │
///        (WebSocket) ◀── upgrade   answering ─▶ writing ─▶ draining ─▶ (end)
///
/// A body is received into memory or by a sink; an answer comes from memory or from a source
/// (`WebSocketServer+Streaming`).
///
/// Without TLS the server owns the descriptor. With TLS libwebsockets owns it from the client's hello on, together with
/// the TLS session. Until the upgrade libwebsockets is kept from reading, and the server uses the session directly.
///
/// Confined to the loop's thread.
final class HTTPConnection {
    enum Stage {
        /// TLS: the client's hello is incomplete.
        case greeting
        /// TLS: the handshake is in progress.
        case shaking
        /// Waiting for a head, or receiving one.
        case head
        /// The delegate has not decided yet whether to accept the request's body.
        case judging
        /// Receiving a request's body.
        case body
        /// The delegate has the request.
        case answering
        /// Writing the answer.
        case writing
        /// The last answer was or is being written; later input is discarded.
        case draining
    }

    let descriptor: Int32
    var stage: Stage
    var reader: RequestHeadReader
    /// Bytes that have arrived and are not consumed yet: the beginning of a head.
    var input: [UInt8] = []
    /// Whether `input` was left over by the previous request, and has not been read.
    var hasUnreadInput = false
    /// The number of input bytes that the inbox' budget counts, and the address for which it counts them.
    var held = 0
    var heldFor = AddressBlock.none
    /// The request whose body is being received.
    var request: HTTPRequest?
    /// The number of missing bytes of the body; unknown for a body in chunks.
    var missing = 0
    var chunks: ChunkedBody?
    /// Counts the requests.
    var number: UInt32 = 0
    /// The name of the latest request.
    var requestName = ""
    /// The client of the latest request: the peer, or the client that a trusted proxy names.
    var client: PeerAddress
    /// Whether the connection's only entry in the server's `idles` is still pending.
    var isTimed = false
    var isHead = false
    var keepsAlive = false
    /// Whether its client accepts compressed answers.
    var acceptsGzip = false
    var output: [UInt8] = []
    /// The number of bytes of the output that have been written.
    var written = 0
    /// When the latest answer began, or when the kernel last accepted a part of it, in ms of the loop.
    var movedAt: Int64 = 0
    /// The number of bytes of output that the budget for answers counts.
    var waiting = 0
    /// The reservation in the address' share, if the answer is long.
    var share: AnswerBudget.Share?
    /// The receiver of the request's body.
    var sink: (any BodySink)?
    /// Whether the sink has stopped the body for now.
    var isSinkBehind = false
    /// The source of the rest of the answer's body.
    var outflow: Outflow?
    /// Set while a body is streamed, in or out.
    var transfer: Transfer?
    /// Whether the connection's only entry in the server's `transfers` is still pending.
    var isTransferTimed = false
    /// The number of bytes at which the kernel wakes the loop; 1 except in bodies.
    var wakesAt: Int32 = 1
    /// TLS: whether the client has sent anything.
    var hasGreeted = false
    /// Whether a byte after the handshake has arrived.
    var hasSpoken = false
    /// Whether `advance` is running for it.
    var isAdvancing = false

    private var readable: ReadableWatcher?
    private var writable: WritableWatcher?
    /// The action when the kernel's buffer has room.
    private var whenWritable: (() -> Void)?
    private(set) var awaitsInput = false
    /// Whether the loop has watched the descriptor.
    private(set) var wasWatched = false

    init(_ descriptor: Int32, of peer: PeerAddress, isSecure: Bool, _ reader: RequestHeadReader) {
        self.descriptor = descriptor
        client = peer
        self.reader = reader
        stage = isSecure ? .greeting : .head
    }

    /// Whether the next step is the peer's: to send the rest of a handshake or a request, or another request. (A
    /// streamed body has time limits of its own.)
    var waitsForPeer: Bool {
        switch stage {
        case .greeting, .shaking, .head: true
        case .body: transfer == nil
        case .judging, .answering, .writing, .draining: false
        }
    }

    /// The time since which the connection waits for its peer only, in ms of the loop; `nil` if the server must act, or
    /// if the connection has time limits of its own, as with a streamed body. Between two steps of the kernel's buffer
    /// (43 KB) a client that reads steadily may be silent for long.
    ///
    /// - Parameter step: when its current step began.
    func waitsForPeer(since step: Int64) -> Int64? {
        switch stage {
        case .writing: isStreaming ? nil : movedAt
        case .draining: step
        default: waitsForPeer ? step : nil
        }
    }

    /// Whether an answer whose body comes in pieces is being written.
    var isStreaming: Bool { stage == .writing && transfer != nil }

    /// Whether the connection was kept after an answer, and no byte of another request has arrived.
    var isBetweenRequests: Bool { stage == .head && number > 0 && input.isEmpty }

    /// Whether it has not yet sent a first complete request.
    var isShakingHands: Bool { waitsForPeer && (number == 0 || number == 1 && stage == .body) }

    /// - Parameter isFirst: before libwebsockets, in each turn.
    func awaitInput(_ loop: EventLoop, isFirst: Bool, _ arrived: @escaping () -> Void) {
        guard !awaitsInput else { return }
        awaitsInput = true
        wasWatched = true
        if let readable { return readable.resume() }
        readable = ReadableWatcher(loop, descriptor: descriptor, isFirst: isFirst, arrived)
    }

    func pauseInput() {
        guard awaitsInput else { return }
        awaitsInput = false
        readable?.cancel()
    }

    /// Calls `action` once, when there is room. Replaces an earlier action.
    func awaitRoom(_ loop: EventLoop, _ action: @escaping () -> Void) {
        whenWritable = action
        let watcher =
            writable
            ?? WritableWatcher(loop, descriptor: descriptor) { [unowned self] in
                // The action may end this connection, so nothing of it is used afterwards.
                let action = whenWritable
                whenWritable = nil
                action?()
            }
        writable = watcher
        watcher.wait()
    }

    /// Stops watching. Must happen before the descriptor's number can belong to another connection.
    func cancel() {
        pauseInput()
        readable = nil
        writable?.cancel()
        writable = nil
        whenWritable = nil
    }
}
