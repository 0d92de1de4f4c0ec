import CLibWebSockets
import EventLoops
import Glibc

/// A WebSocket and HTTP server on one loop.
///
/// Everything happens on the loop's thread, synchronously; nothing here is locked. It is handed listening sockets,
/// accepts from them itself (libwebsockets cannot share a port in Debian's build), reads and answers HTTP itself, and serves
/// WebSockets without TLS itself. With TLS a connection is libwebsockets' from the client's hello on.
///
/// Frames are written as bytes framed beforehand, straight to the kernel: a message to many is framed once. A connection
/// whose peer reads too slowly is `congested`: nothing more is taken for it until the delegate hears `writable`, so it
/// holds at most one write.
public final class WebSocketServer {
    let loop: EventLoop
    let configuration: WebSocketServerConfiguration
    /// The delegate owns the server and outlives it.
    unowned let delegate: any WebSocketServerDelegate

    public internal(set) var counters = WebSocketServerCounters()
    /// The WebSockets that the delegate knows of.
    public internal(set) var openCount = 0
    /// All TCP connections, those of HTTP and of handshakes included.
    public var connectionCount: Int { table.count }
    /// Those of them that are no WebSockets.
    public var handshakeCount: Int { table.unsettledCount }

    /// Whether a request waits for its answer, or for the rest of it. It looks at all connections.
    public var isAnswering: Bool {
        table.entries.contains {
            guard let stage = $0.extras?.http?.stage else { return false }
            return stage == .judging || stage == .answering || stage == .writing
        }
    }

    var table = ConnectionTable()
    var requestNames = RequestName()
    /// From `stopListening` on: no connection is kept after its answer.
    var isStopping = false
    private var isShutDown = false
    /// For TLS; nil without it, and after `shutdown`.
    var context: LibWebSockets.Context?
    /// The socket libwebsockets is being given.
    var adopting: SocketID?
    /// While libwebsockets makes a WebSocket of a connection over TLS.
    var upgrading: Upgrade?
    /// What is read from connections before they are WebSockets, one read at a time. Owned; freed in `deinit`.
    let scratch: UnsafeMutableRawBufferPointer
    /// The same for open connections, apart because their messages are lent from it while others are read. Owned; freed in
    /// `deinit`.
    let frameScratch: UnsafeMutableRawBufferPointer
    /// The answers to pings of the read that is being taken.
    var pongs: [UInt8] = []
    /// Bytes held of requests and messages that are not whole.
    public internal(set) var inboxHeld = 0
    /// Bytes of answers that their clients have not taken.
    public internal(set) var answersHeld = 0

    /// What new connections over TLS are shown.
    private var identity: TLSIdentity?
    /// Where OpenSSL finds it at each handshake, on this loop's thread. Freed in `deinit`, when the context is gone.
    let identityPlace: UnsafeMutablePointer<OpaquePointer?>

    var listeners: [(socket: ListeningSocket, watcher: ReadableWatcher)] = []
    var acceptsPaused = false
    /// The last attempt to accept a connection failed, and the delegate knows.
    var acceptFails = false
    var acceptRetry: LoopTimer?
    /// Set while accepting is paused because there are too many handshakes.
    var roomRetry: LoopTimer?
    /// Looking is dear: not before, unless it found something.
    var nextLookForRoom: Int64 = 0

    /// The most connections without a WebSocket since memory was last given back.
    var mostHandshakes = 0
    var memoryTimer: LoopTimer?

    var handshakes: DeadlineQueue
    var closings: DeadlineQueue
    /// HTTP connections whose next request is waited for.
    var idles: DeadlineQueue
    /// Connections with a body that is streamed.
    var transfers: DeadlineQueue
    var deadlineTimer: LoopTimer?
    /// No deadline is met before.
    var excusedUntil: Int64 = 0
    var date = DateHeader()
    var doomed: [SocketID] = []
    /// Those that have more to be read, after others have had their turn.
    var unfinished: [SocketID] = []
    /// What new clients and calls may take of a turn, and those that have to wait for the next one.
    var share = TurnShare()
    var postponed: [SocketID] = []
    /// Connections over TLS from which nothing is taken (`WebSocketServer+Pausing`), and whether libwebsockets is kept from
    /// reading them already.
    var paused: [SocketID: Bool] = [:]
    /// Messages that came from them before it was.
    var backlogs: [SocketID: [[UInt8]]] = [:]
    /// Those that libwebsockets may read again once their backlog is delivered.
    var heldBack: Set<SocketID> = []
    /// Those whose backlog is to be delivered.
    var resumed: [SocketID] = []
    private var endOfTurn: EndOfTurnHook?
    /// How many callbacks of open connections are running.
    var depth = 0

    /// Makes a server that listens nowhere yet. On the loop's thread, or before it starts.
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

    /// New connections over TLS are shown this certificate from now on; those that are there go on with theirs.
    public func use(_ identity: TLSIdentity) {
        precondition(configuration.servesTLS, "the server was not made for TLS")
        self.identity = identity
        identityPlace.pointee = identity.context
    }

    /// Ends every connection without a close frame, tells the delegate, and frees everything.
    ///
    /// To part politely, `close` each connection before and wait until `openCount` is 0. Not from inside a call to the
    /// delegate.
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

    /// Writes one or many whole frames, which must be framed already, as `WebSocketFrame` does.
    ///
    /// The bytes are taken over as a whole or not at all, and need not outlive the call.
    public func write(_ bytes: UnsafeRawBufferPointer, to socket: SocketID) -> WriteResult {
        guard let connection = table.writable(socket) else { return .refused }
        guard connection.descriptor >= 0 else { return send(bytes, connection.index) }
        let sent = Glibc.send(connection.descriptor, bytes.baseAddress, bytes.count, Self.sendFlags)
        if sent == bytes.count {
            counters.wrote(sent)
            return .written
        }
        guard keepUnsent(bytes, sent, connection.index) else { return .refused }
        return noteCongestion(bytes.count, connection.index)
    }

    static let sendFlags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)

    /// Asks the peer for a sign of life. Skipped while the connection is congested: then its silence tells already.
    public func ping(_ socket: SocketID) {
        guard let index = table.writable(socket)?.index else { return }
        // Not `write`: the delegate does not wait for it to be taken, and learns of a full socket when it writes itself.
        let result = WebSocketFrame.ping.withUnsafeBytes { send($0, index) }
        if result == .congested { table[index].unsent = .answers }
    }

    /// Writes to a WebSocket, whatever its state. One that broke is ended at the end of the turn.
    @discardableResult
    func send(_ bytes: UnsafeRawBufferPointer, _ index: Int) -> WriteResult {
        guard let start = bytes.baseAddress, !bytes.isEmpty else { return .written }
        guard let wsi = table[index].wsi else {
            guard sendDirectly(bytes, index) else { return .refused }
            guard table[index].unsent == .nothing else { return noteCongestion(bytes.count, index) }
            counters.wrote(bytes.count)
            return .written
        }
        // libwebsockets takes mutable bytes but passes those of LWS_WRITE_HTTP through as they are.
        let mutable = UnsafeMutablePointer(mutating: start.assumingMemoryBound(to: UInt8.self))
        guard lws_write(wsi, mutable, bytes.count, LWS_WRITE_HTTP) >= 0 else {
            doom(index)
            return .refused
        }
        guard lws_partial_buffered(wsi) == 0 else { return noteCongestion(bytes.count, index) }
        counters.wrote(bytes.count)
        return .written
    }

    /// A part of so many bytes that were written waits until the socket takes more.
    private func noteCongestion(_ count: Int, _ index: Int) -> WriteResult {
        counters.wrote(count)
        counters.partialWrites += 1
        table[index].unsent = .writes
        return .congested
    }

    // MARK: - Reading

    /// How long ago, in ms, the kernel last received a byte from the peer; `nil` if the connection is gone.
    ///
    /// For the moment before somebody is called dead: libwebsockets reports no empty pong, and costs a system call.
    public func silence(of socket: SocketID) -> Int64? {
        tcpInformation(of: socket).map { Int64($0.tcpi_last_data_recv) }
    }

    /// Whether the kernel knows that the peer has closed the connection, whatever came before that and is still to be read.
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
