import CLibWebSockets
import EventLoops
import Glibc

/// A WebSocket and HTTP server on one loop.
///
/// All code runs on the loop's thread, synchronously, without locks. The server accepts connections from its listening
/// sockets itself (libwebsockets cannot share a port in Debian's build). It reads and answers HTTP itself, and serves
/// WebSockets without TLS itself. With TLS, libwebsockets owns a connection from the client's hello on.
///
/// Frames are written as ready-made bytes, directly to the kernel: a message to many is framed once. A connection whose
/// peer reads too slowly is `congested`: the server rejects further writes until it has called `writable`, so the
/// connection holds the rest of at most one write.
public final class WebSocketServer {
    let loop: EventLoop
    let configuration: WebSocketServerConfiguration
    /// The delegate owns the server and outlives it.
    unowned let delegate: any WebSocketServerDelegate

    // Each delivery uses the counters and the table. Only debug builds check at run time that accesses do not overlap: that
    // takes a sixth of a delivery's instructions.
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    public internal(set) var counters = WebSocketServerCounters()
    /// The WebSockets that were announced to the delegate.
    public internal(set) var openCount = 0
    /// All TCP connections, including HTTP and handshakes.
    public var connectionCount: Int { table.count }
    /// The connections without a WebSocket.
    public var handshakeCount: Int { table.unsettledCount }

    /// Whether a request waits for its answer, or for the rest of it. Visits all connections.
    public var isAnswering: Bool {
        table.entries.contains {
            guard let stage = $0.extras?.http?.stage else { return false }
            return stage == .judging || stage == .answering || stage == .writing
        }
    }

    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    var table = ConnectionTable()
    var requestNames = RequestName()
    /// Set by `stopListening`: no connection is kept after its answer.
    var isStopping = false
    private var isShutDown = false
    /// For TLS; nil without it, and after `shutdown`.
    var context: LibWebSockets.Context?
    /// The socket that libwebsockets is being given.
    var adopting: SocketID?
    /// Set while libwebsockets makes a WebSocket of a connection over TLS.
    var upgrading: Upgrade?
    /// The buffer for input of connections before they are WebSockets, for one read at a time. Owned; freed in
    /// `deinit`.
    let scratch: UnsafeMutableRawBufferPointer
    /// The buffer for input of open connections. It is separate because messages stay valid in it while other
    /// connections are read. Owned; freed in `deinit`.
    let frameScratch: UnsafeMutableRawBufferPointer
    /// The answers to pings of the current read.
    var pongs: [UInt8] = []
    /// Bytes of incomplete requests and messages.
    public internal(set) var inboxHeld = 0
    /// Bytes of answers that their clients have not received.
    public internal(set) var answersHeld = 0

    /// The certificate for new connections over TLS.
    private var identity: TLSIdentity?
    /// The position at which OpenSSL finds the identity at each handshake, on this loop's thread. Freed in `deinit`,
    /// after the context.
    let identityPlace: UnsafeMutablePointer<OpaquePointer?>

    var listeners: [(socket: ListeningSocket, watcher: ReadableWatcher)] = []
    var acceptsPaused = false
    /// Whether the last attempt to accept a connection failed, which the delegate knows.
    var acceptFails = false
    var acceptRetry: LoopTimer?
    /// Set while accepting is paused because there are too many handshakes.
    var roomRetry: LoopTimer?
    /// The search for room is expensive: it does not run before this time, unless the last one succeeded.
    var nextLookForRoom: Int64 = 0

    /// The most connections without a WebSocket since memory was last returned.
    var mostHandshakes = 0
    var memoryTimer: LoopTimer?

    var handshakes: DeadlineQueue
    var closings: DeadlineQueue
    /// HTTP connections between two requests.
    var idles: DeadlineQueue
    /// Connections with a streamed body.
    var transfers: DeadlineQueue
    var deadlineTimer: LoopTimer?
    /// No deadline is met before this time.
    var excusedUntil: Int64 = 0
    var date = DateHeader()
    var doomed: [SocketID] = []
    /// Connections with more input to read, after other connections had their turn.
    var unfinished: [SocketID] = []
    /// The share of a turn for new clients and calls, and the connections that must wait for the next turn.
    var share = TurnShare()
    var postponed: [SocketID] = []
    /// Paused connections over TLS (`WebSocketServer+Pausing`), and whether libwebsockets' reading is paused already.
    var paused: [SocketID: Bool] = [:]
    /// Their messages that libwebsockets had read before its reading was paused.
    var backlogs: [SocketID: [[UInt8]]] = [:]
    /// Connections that libwebsockets may read again once their backlog is delivered.
    var heldBack: Set<SocketID> = []
    /// Connections whose backlog must be delivered.
    var resumed: [SocketID] = []
    private var endOfTurn: EndOfTurnHook?
    /// The number of running callbacks of open connections.
    var depth = 0

    /// Makes a server without listening sockets. On the loop's thread, or before it starts.
    ///
    /// - Throws: `WebSocketError`.
    public init(
        loop: EventLoop, configuration: WebSocketServerConfiguration, delegate: any WebSocketServerDelegate
    ) throws {
        self.loop = loop
        self.configuration = configuration
        self.delegate = delegate
        handshakes = DeadlineQueue(delay: configuration.handshakeTimeout)
        closings = DeadlineQueue(delay: configuration.closeTimeout)
        idles = DeadlineQueue(delay: Int64(configuration.httpTimeout) * 1_000)
        transfers = DeadlineQueue(delay: configuration.transferTimeout)
        scratch = .allocate(byteCount: Self.readSize, alignment: 16)
        frameScratch = .allocate(byteCount: Self.readSize, alignment: 16)
        identityPlace = .allocate(capacity: 1)
        identityPlace.initialize(to: nil)
        if configuration.servesTLS { context = try makeContext() }
        deadlineTimer = LoopTimer(loop) { [unowned self] in meetDeadlines() }
        acceptRetry = LoopTimer(loop) { [unowned self] in resumeAccepting() }
        roomRetry = LoopTimer(loop) { [unowned self] in resumeAccepting() }
        memoryTimer = LoopTimer(loop) { [unowned self] in returnMemory() }
        endOfTurn = loop.atEndOfTurn { [unowned self] in
            advanceUnfinished()
            deliverBacklogs()
            holdBackPaused()
            reap()
        }
    }

    deinit {
        precondition(isShutDown, "a WebSocketServer must be shut down before it goes")
        identityPlace.deallocate()
        scratch.deallocate()
        frameScratch.deallocate()
    }

    /// Uses this certificate for new connections over TLS; existing ones keep theirs.
    public func use(_ identity: TLSIdentity) {
        precondition(configuration.servesTLS, "the server was not made for TLS")
        self.identity = identity
        identityPlace.pointee = identity.context
    }

    /// Ends every connection without a close frame, calls the delegate, and frees everything.
    ///
    /// To end gracefully, `close` each connection before and wait until `openCount` is 0. Must not be called from
    /// inside a call to the delegate.
    public func shutdown() {
        guard !isShutDown else { return }
        precondition(depth == 0, "shutdown inside a call to the delegate")
        isShutDown = true
        stopListening()
        acceptRetry = nil
        roomRetry = nil
        deadlineTimer = nil
        memoryTimer = nil
        endOfTurn?.cancel()
        for index in table.entries.indices where table[index].wsi == nil { kill(index) }
        context?.destroy()
        context = nil
    }

    // MARK: - Writing

    /// Writes one or more whole frames, made by `WebSocketFrame`.
    ///
    /// The bytes are accepted as a whole or not at all, and need not outlive the call.
    public func write(_ bytes: UnsafeRawBufferPointer, to socket: SocketID) -> WriteResult {
        guard let connection = table.writable(socket) else { return .refused }
        guard connection.descriptor >= 0 else { return send(bytes, connection.index) }
        let sent = Glibc.send(connection.descriptor, bytes.baseAddress, bytes.count, Self.sendFlags)
        if sent == bytes.count {
            counters.wrote(sent)
            return .written
        }
        guard keepUnsent(bytes, sent, connection.index) else { return .refused }
        return recordCongestion(bytes.count, connection.index)
    }

    static let sendFlags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)

    /// Sends a ping. Skipped while the connection is congested: it is then obvious that the peer does not read.
    public func ping(_ socket: SocketID) {
        guard let index = table.writable(socket)?.index else { return }
        // Does not use `write`: the delegate does not wait for these bytes, and notices a full socket when it writes
        // itself.
        let result = WebSocketFrame.ping.withUnsafeBytes { send($0, index) }
        if result == .congested { table[index].unsent = .answers }
    }

    /// Writes to a WebSocket in any state. A broken one is ended at the end of the turn.
    @discardableResult
    func send(_ bytes: UnsafeRawBufferPointer, _ index: Int) -> WriteResult {
        guard let start = bytes.baseAddress, !bytes.isEmpty else { return .written }
        guard let wsi = table[index].wsi else {
            guard sendDirectly(bytes, index) else { return .refused }
            guard table[index].unsent == .nothing else { return recordCongestion(bytes.count, index) }
            counters.wrote(bytes.count)
            return .written
        }
        // libwebsockets takes mutable bytes but passes those of LWS_WRITE_HTTP on unchanged.
        let mutable = UnsafeMutablePointer(mutating: start.assumingMemoryBound(to: UInt8.self))
        guard lws_write(wsi, mutable, bytes.count, LWS_WRITE_HTTP) >= 0 else {
            doom(index)
            return .refused
        }
        guard lws_partial_buffered(wsi) == 0 else { return recordCongestion(bytes.count, index) }
        counters.wrote(bytes.count)
        return .written
    }

    /// A part of the written bytes waits until the socket accepts more.
    private func recordCongestion(_ count: Int, _ index: Int) -> WriteResult {
        counters.wrote(count)
        counters.partialWrites += 1
        table[index].unsent = .writes
        return .congested
    }

    // MARK: - Reading

    /// The time, in ms, since the kernel last received a byte from the peer; `nil` if the connection has ended.
    ///
    /// To check before a peer is declared dead: libwebsockets reports no empty pong. Costs a system call.
    public func silence(of socket: SocketID) -> Int64? {
        tcpInformation(of: socket).map { Int64($0.tcpi_last_data_recv) }
    }

    /// Whether the kernel knows that the peer has closed the connection, even if earlier bytes are still unread.
    public func hasHungUp(_ socket: SocketID) -> Bool {
        tcpInformation(of: socket).map { $0.tcpi_state != UInt8(TCP_ESTABLISHED) } ?? false
    }

    private func tcpInformation(of socket: SocketID) -> tcp_info? {
        guard let index = table.index(socket) else { return nil }
        let descriptor = table[index].wsi.map { lws_get_socket_fd($0) } ?? table[index].descriptor
        var info = tcp_info()
        var size = socklen_t(MemoryLayout<tcp_info>.size)
        guard getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_INFO, &info, &size) == 0 else { return nil }
        return info
    }
}
