import EventLoops

/// A connection before it is a WebSocket: what has come of its requests, one after the other, and what goes back.
///
///     greeting ─▶ shaking ─┐ (TLS only)
///                          ▼
///                        head ◀──────────────────┐
///                          │ ─▶ body ─┐          │ kept         (judging: between head and body)
///                          ▼          ▼          │
///        (WebSocket) ◀── upgrade   answering ─▶ writing ─▶ draining ─▶ (end)
///
/// A body goes into memory, or to a sink; an answer comes from memory, or from a source (`WebSocketServer+Streaming`).
///
/// Without TLS the descriptor is ours. With TLS libwebsockets has it from the client's hello on, since the session of TLS is
/// its own; until the upgrade it is kept from reading, and its session is used in its place.
///
/// Confined to the loop's thread.
final class HTTPConnection {
    enum Stage {
        /// TLS: the client's hello is not whole.
        case greeting
        /// TLS: the handshake is under way.
        case shaking
        /// A head is waited for, or coming.
        case head
        /// The delegate has not said yet whether the request's body may come.
        case judging
        /// A request's body is coming.
        case body
        /// The delegate has the request.
        case answering
        /// The answer is being written.
        case writing
        /// The last answer was or is being written; what still comes is thrown away.
        case draining
    }

    let descriptor: Int32
    var stage: Stage
    var reader: RequestHeadReader
    /// What has come and is not used yet: the beginning of a head.
    var input: [UInt8] = []
    /// `input` was left by the request before and has not been read.
    var hasUnreadInput = false
    /// How much of this the inbox' budget was asked for, and for which address.
    var held = 0
    var heldFor = AddressBlock.none
    /// Its body is coming.
    var request: HTTPRequest?
    /// How much of it is missing; of one in chunks that is not known.
    var missing = 0
    var chunks: ChunkedBody?
    /// Counts the requests.
    var number: UInt32 = 0
    /// What the latest one is called.
    var requestName = ""
    /// Who made the latest one: the peer, or whom a trusted proxy names.
    var client: PeerAddress
    /// Its one entry among the server's `idles` has not come up yet.
    var isTimed = false
    var isHead = false
    var keepsAlive = false
    /// Its client reads answers that are compressed.
    var acceptsGzip = false
    var output: [UInt8] = []
    /// How much of it has been written.
    var written = 0
    /// When there was a new answer, or the kernel last took some of it, in ms of the loop.
    var movedAt: Int64 = 0
    /// How many bytes of output the budget for answers counts.
    var waiting = 0
    /// What they take of the address' share, if the answer is long.
    var share: AnswerBudget.Share?
    /// Where the request's body goes.
    var sink: (any BodySink)?
    /// The sink takes nothing for now.
    var isSinkBehind = false
    /// Where the rest of the answer's body comes from.
    var outflow: Outflow?
    /// Set while a body is streamed, in or out.
    var transfer: Transfer?
    /// Its one entry among the server's `transfers` has not come up yet.
    var isTransferTimed = false
    /// So many bytes have to have come before the kernel wakes us; 1 but within bodies.
    var wakesAt: Int32 = 1
    /// TLS: the client has sent something.
    var hasGreeted = false
    /// It came as far as a first byte behind the handshake.
    var hasSpoken = false
    /// `advance` is at work on it.
    var isAdvancing = false

    private var readable: ReadableWatcher?
    private var writable: WritableWatcher?
    /// What the next room in the kernel's buffer is waited for.
    private var whenWritable: (() -> Void)?
    private(set) var awaitsInput = false
    /// The loop has watched the descriptor.
    private(set) var wasWatched = false

    init(_ descriptor: Int32, of peer: PeerAddress, isSecure: Bool, _ reader: RequestHeadReader) {
        self.descriptor = descriptor
        client = peer
        self.reader = reader
        stage = isSecure ? .greeting : .head
    }

    /// Whether the next step is the peer's: to send the rest of a handshake or a request, or the next one. (A body that is
    /// streamed has times of its own.)
    var waitsForPeer: Bool {
        switch stage {
        case .greeting, .shaking, .head: true
        case .body: transfer == nil
        case .judging, .answering, .writing, .draining: false
        }
    }

    /// Since when nothing but its peer has held it up, in ms of the loop; `nil` if the server has to do something, or if it has
    /// times of its own, as a body that is streamed has: between two steps of the kernel's buffer (43 KB) a client that reads
    /// steadily may be silent for long.
    ///
    /// - Parameter step: when its present step began.
    func waitsForPeer(since step: Int64) -> Int64? {
        switch stage {
        case .writing: isStreaming ? nil : movedAt
        case .draining: step
        default: waitsForPeer ? step : nil
        }
    }

    /// Whether an answer is being written whose body is given in pieces.
    var isStreaming: Bool { stage == .writing && transfer != nil }

    /// Whether it was kept after an answer, and nothing of another request has come.
    var isBetweenRequests: Bool { stage == .head && number > 0 && input.isEmpty }

    /// Whether it has not got as far as a first whole request.
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

    /// Calls `action` once, when there is room; what was waited for before is forgotten.
    func awaitRoom(_ loop: EventLoop, _ action: @escaping () -> Void) {
        whenWritable = action
        let watcher =
            writable
            ?? WritableWatcher(loop, descriptor: descriptor) { [unowned self] in
                // It may end this connection, after which nothing here is touched.
                let action = whenWritable
                whenWritable = nil
                action?()
            }
        writable = watcher
        watcher.wait()
    }

    /// Watches nothing any more. Before its descriptor's number can be another connection's.
    func cancel() {
        pauseInput()
        readable = nil
        writable?.cancel()
        writable = nil
        whenWritable = nil
    }
}
