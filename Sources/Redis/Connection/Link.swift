import CHiredis
import CLibEV
import EventLoops
import Glibc

/// One socket to Redis on a loop: bytes are sent at the end of a turn, and answers are parsed by hiredis' reader, if
/// configured through TLS.
///
///     connecting ──(handshake)──opened──▶ open ──broken(reason)──▶ closed
///         └──────────────broken(reason)──────────────────────────────▲
///
/// `opened` is called at most once, `broken` at most once and last, and neither after `close()`. This is where C
/// enters: libev calls the two watchers, and they call only `handleReadable` and `handleWritable`.
///
/// Appended bytes are sent with one `send` at the end of the loop's turn, without epoll_ctl as long as the socket
/// accepts them: the write watcher is started when there are bytes, and stopped before libev looks at it if all were
/// written. The watcher also sends bytes that are appended after this object's hook in a turn.
///
/// Confined to the loop's thread.
final class Link {
    private let loop: EventLoop

    /// hiredis' socket and reader. Owned since `init`, freed by `close()`, after which hiredis no longer uses it.
    private var context: UnsafeMutablePointer<redisContext>?

    /// Owned; allocated so that libev may keep their addresses; stopped by `close()`, freed in `deinit`.
    private let watchers: UnsafeMutablePointer<Watchers>

    /// The kernel's buffer for received bytes, before the reader copies them. Owned, freed in `deinit`.
    private let input: UnsafeMutableRawBufferPointer

    private let wire: Wire
    private(set) var isShakingHands = false
    /// TLS may need to write before it can read, and to read before it can write (a change of keys).
    private var readWantsWriting = false
    private var writeWantsReading = false

    private struct Watchers {
        var readable = ev_io()
        var writable = ev_io()
    }

    private var output: [UInt8] = []
    /// The number of bytes of `output` that are already written.
    private var outputHead = 0
    private var hook: EndOfTurnHook?

    private(set) var isOpen = false
    /// True while hiredis' reader is on the stack: freeing it must wait.
    private var isParsing = false

    /// How many bytes were ever written, and ever appended: a command that starts at or after `written` was not sent.
    private(set) var written: UInt64 = 0
    var appended: UInt64 { written + UInt64(output.count - outputHead) }

    /// Called when the socket is connected.
    var opened: () -> Void = {}
    /// Called when bytes have arrived: replies may be complete.
    var readable: () -> Void = {}
    /// Called when the link has broken, after `close()` of the link.
    var broken: (_ reason: String) -> Void = { _ in }

    /// The most bytes to read in a turn (with TLS, whole records while there is room for one). The rest is read in the
    /// next turn, after other connections had theirs.
    private static let readSize = 64 << 10
    /// An empty buffer above this size is freed. (hiredis frees its own from 16 KiB on, after each of our reads.)
    private static let keptBuffer = 1 << 20

    /// Takes over a context that is connecting or connected; `tls` is on its socket.
    init(_ context: UnsafeMutablePointer<redisContext>, on loop: EventLoop, tls: TLSSession? = nil) {
        self.loop = loop
        self.context = context
        wire = Wire(socket: context.pointee.fd, tls: tls)
        context.pointee.reader.pointee.maxbuf = Self.keptBuffer
        context.pointee.reader.pointee.fn = AnswerObjects.functions
        input = .allocate(byteCount: Self.readSize, alignment: 16)
        watchers = .allocate(capacity: 1)
        watchers.initialize(to: Watchers())

        let fd = context.pointee.fd
        // hiredis lets child processes inherit its sockets.
        _ = fcntl(fd, F_SETFD, FD_CLOEXEC)
        if context.pointee.connection_type == REDIS_CONN_TCP {
            // TCP keepalive also ends an idle subscription when the host has vanished, after 15 s and 3 probes 5 s
            // apart.
            redisEnableKeepAlive(context)
        }
        // Unretained: the watchers are started only while the link is open, and `deinit` closes it.
        let me = Unmanaged.passUnretained(self).toOpaque()
        clibev_io_init(
            &watchers.pointee.readable, { _, watcher, _ in Link.of(watcher!).handleReadable() }, fd, CInt(EV_READ), me)
        clibev_io_init(
            &watchers.pointee.writable, { _, watcher, _ in Link.of(watcher!).handleWritable() }, fd, CInt(EV_WRITE), me)
        ev_io_start(loop.raw, &watchers.pointee.writable)
    }

    deinit {
        close()
        watchers.deallocate()
        input.deallocate()
    }

    /// Unretained: see `init`. The caller retains the object during the call.
    private static func of(_ watcher: UnsafeMutablePointer<ev_io>) -> Link {
        Unmanaged<Link>.fromOpaque(watcher.pointee.data).takeUnretainedValue()
    }

    /// Ends the link without calling `broken`. May be called from any of its callbacks, and twice.
    func close() {
        hook?.cancel()
        hook = nil
        isOpen = false
        guard let context else { return }
        ev_io_stop(loop.raw, &watchers.pointee.readable)
        ev_io_stop(loop.raw, &watchers.pointee.writable)
        self.context = nil
        if isParsing { abandoned = context } else { redisFree(context) }
    }

    /// A context that a callback closed while its reader was running; freed when the reader returns.
    private var abandoned: UnsafeMutablePointer<redisContext>?

    private func fail(_ reason: String) {
        guard context != nil else { return }
        close()
        broken(reason)
    }

    // MARK: - Out

    /// Lets `encode` append a command's bytes, to be written at the end of this turn.
    func append(_ encode: (inout [UInt8]) -> Void) {
        guard isOpen else { return }
        let isFirst = output.isEmpty
        encode(&output)
        if isFirst { ev_io_start(loop.raw, &watchers.pointee.writable) }
    }

    private func handleWritable() {
        guard isOpen else { return isShakingHands ? shakeHands() : finishConnecting() }
        if readWantsWriting {
            readWantsWriting = false
            if outputHead == output.count { ev_io_stop(loop.raw, &watchers.pointee.writable) }
            _ = read()
        }
        flush()
    }

    private func finishConnecting() {
        guard let context else { return }
        var error: CInt = 0
        var size = socklen_t(MemoryLayout<CInt>.size)
        getsockopt(context.pointee.fd, SOL_SOCKET, SO_ERROR, &error, &size)
        guard error == 0 else { return fail(Self.text(of: error)) }
        isShakingHands = wire.tls != nil
        if isShakingHands { shakeHands() } else { open() }
    }

    private func shakeHands() {
        guard let tls = wire.tls else { return }
        switch tls.handshake() {
        case .done:
            isShakingHands = false
            open()
        case .wantsRead:
            ev_io_stop(loop.raw, &watchers.pointee.writable)
            ev_io_start(loop.raw, &watchers.pointee.readable)
        case .wantsWrite:
            ev_io_stop(loop.raw, &watchers.pointee.readable)
            ev_io_start(loop.raw, &watchers.pointee.writable)
        case .ended: fail("the server closed the connection during the TLS handshake")
        case .failed(let reason): fail(reason)
        }
    }

    private func open() {
        ev_io_stop(loop.raw, &watchers.pointee.writable)
        ev_io_start(loop.raw, &watchers.pointee.readable)
        isOpen = true
        hook = loop.atEndOfTurn { [unowned self] in flush() }
        opened()
    }

    private func flush() {
        while outputHead < output.count, !writeWantsReading {
            switch send() {
            case .done(let count):
                written += UInt64(count)
                outputHead += count
                // TLS sends one record at a time, the kernel as much as it can.
                if wire.tls == nil, outputHead < output.count { return dropWritten() }
            case .wantsWrite:
                return dropWritten()
            case .wantsRead:
                writeWantsReading = true
                ev_io_stop(loop.raw, &watchers.pointee.writable)
                return dropWritten()
            case .ended:
                return failAfterReading("the server closed the connection")
            case .failed(let reason):
                return failAfterReading(reason)
            }
        }
        guard context != nil, outputHead == output.count, outputHead > 0 else { return }
        output.removeAll(keepingCapacity: output.capacity <= Self.keptBuffer)
        outputHead = 0
        if !readWantsWriting { ev_io_stop(loop.raw, &watchers.pointee.writable) }
    }

    private func send() -> TLSSession.Outcome {
        guard context != nil else { return .wantsWrite }
        return output.withUnsafeBytes { wire.send(UnsafeRawBufferPointer(rebasing: $0[outputHead...])) }
    }

    /// The server may have sent answers, or a reason, before it closed the connection: reads them first.
    private func failAfterReading(_ reason: String) {
        drain()
        fail(reason)
    }

    /// Frees the written part of a long output, once that is more than half.
    private func dropWritten() {
        guard outputHead > Self.keptBuffer, outputHead > output.count / 2 else { return }
        output.removeFirst(outputHead)
        outputHead = 0
    }

    // MARK: - In

    private func handleReadable() {
        guard !isShakingHands else { return shakeHands() }
        _ = read()
        guard writeWantsReading, context != nil else { return }
        writeWantsReading = false
        ev_io_start(loop.raw, &watchers.pointee.writable)
        flush()
    }

    /// Reads everything that has arrived.
    func drain() {
        while read() {}
    }

    /// Reads once and calls `readable`. Returns whether bytes had arrived.
    private func read() -> Bool {
        guard context != nil else { return false }
        let (count, end) = wire.fill(input)
        if count > 0 {
            guard redisReaderFeed(context!.pointee.reader, input.baseAddress!, count) == REDIS_OK else {
                fail("out of memory for an answer")
                return false
            }
            hasRead = true
            readable()
        }
        switch end {
        case .done, .wantsRead: break
        case .wantsWrite:
            guard context != nil else { break }
            readWantsWriting = true
            ev_io_start(loop.raw, &watchers.pointee.writable)
        case .ended: fail("the server closed the connection" + suspicion)
        case .failed(let reason): fail(reason + suspicion)
        }
        return count > 0 && context != nil
    }

    private var hasRead = false

    /// A server with TLS closes the connection of a plain client without an error.
    private var suspicion: String {
        guard !hasRead, wire.tls == nil, context?.pointee.connection_type == REDIS_CONN_TCP else { return "" }
        return " before it sent anything: if the port is for TLS, its address begins with rediss"
    }

    /// The next complete answer, which the caller frees with `freeReplyObject`; `nil` if none is complete yet.
    func nextReply() -> UnsafeMutablePointer<redisReply>? {
        parse()?.assumingMemoryBound(to: redisReply.self)
    }

    /// Lets the reader parse the next complete answer; `nil` if none is complete yet, or the link is closed.
    func parse() -> UnsafeMutableRawPointer? {
        guard let context, let reader = context.pointee.reader else { return nil }
        var reply: UnsafeMutableRawPointer?
        isParsing = true
        let result = redisReaderGetReply(reader, &reply)
        isParsing = false
        if let abandoned {
            self.abandoned = nil
            redisFree(abandoned)
            return nil
        }
        guard result == REDIS_OK else {
            fail("not an answer of Redis: \(withUnsafeBytes(of: reader.pointee.errstr, String.init(cText:)))")
            return nil
        }
        return reply
    }

    /// Makes the reader call `functions` instead of building `redisReply` objects. Both pointers must stay valid until
    /// the link is closed. Call it before the first read.
    func read(
        with functions: UnsafeMutablePointer<redisReplyObjectFunctions>, context data: UnsafeMutableRawPointer
    ) {
        context?.pointee.reader.pointee.fn = functions
        context?.pointee.reader.pointee.privdata = data
    }

    private static func text(of error: CInt) -> String { String(cString: strerror(error)) }
}
