import CLibEV
import EventLoops
import Glibc

/// The state for reading and writing an open connection without TLS.
///
/// libev keeps a pointer to the watcher in it, so it needs a fixed address: `make` allocates it, `free` frees it.
struct FrameSource {
    /// Watches for the flags in `events`. It is started while there is at least one flag.
    private var watcher = ev_io()
    private var events: Int32 = 0
    private let descriptor: Int32
    /// The loop has watched the descriptor since it was opened.
    private var isWatched: Bool
    /// Unretained: a server outlives its connections.
    private let server: Unmanaged<WebSocketServer>
    private let socket: SocketID
    var reader = FrameReader()
    /// Reading is paused.
    var isPaused = false
    /// The peer will send no more.
    var isAtEnd = false
    /// Whether the connection is closed once everything has been written.
    var hangsUp = false
    /// The beginning of a control frame's payload.
    var control: [UInt8] = []
    /// The answer to the latest ping, which waits for room in the socket.
    var pong: [UInt8] = []
    /// Bytes that were read, but not processed because the connection was paused. The inbox' budget counts them.
    var rest: [UInt8] = []
    /// Bytes that the kernel did not accept: the rest of at most one write, and answers of the server's own.
    private(set) var unsent: [UInt8] = []
    /// How many bytes of `unsent` have been sent in the meantime.
    private var sent = 0

    private init(_ server: WebSocketServer, _ socket: SocketID, _ descriptor: Int32, isWatched: Bool) {
        self.isWatched = isWatched
        self.server = .passUnretained(server)
        self.socket = socket
        self.descriptor = descriptor
    }

    /// - Parameter isWatched: The loop has watched the descriptor since it was opened.
    static func make(
        _ server: WebSocketServer, _ socket: SocketID, descriptor: Int32, isWatched: Bool
    ) -> UnsafeMutablePointer<Self> {
        let place = UnsafeMutablePointer<Self>.allocate(capacity: 1)
        place.initialize(to: Self(server, socket, descriptor, isWatched: isWatched))
        place.pointee.watcher.data = UnsafeMutableRawPointer(place)
        return place
    }

    static func free(_ place: UnsafeMutablePointer<Self>, _ loop: EventLoop) {
        ev_io_stop(loop.raw, &place.pointee.watcher)
        place.deinitialize(count: 1)
        place.deallocate()
    }

    /// Watches the connection for reading unless paused, and for writing while bytes wait.
    mutating func watch(_ loop: EventLoop) {
        let isRead = !isPaused && !isAtEnd && rest.isEmpty
        let wanted = (isRead ? Int32(EV_READ) : 0) | (unsent.isEmpty ? 0 : Int32(EV_WRITE))
        guard wanted != events else { return }
        ev_io_stop(loop.raw, &watcher)
        events = wanted
        guard wanted != 0 else { return }
        let place = watcher.data
        let initialize = isWatched ? clibev_io_init_watched : clibev_io_init
        isWatched = true
        initialize(
            &watcher,
            { _, watcher, events in
                let source = watcher!.pointee.data.assumingMemoryBound(to: FrameSource.self)
                source.pointee.server.takeUnretainedValue().ready(source.pointee.socket, events)
            },
            descriptor, wanted, place)
        ev_io_start(loop.raw, &watcher)
    }

    // MARK: - Unsent bytes

    mutating func keep(_ bytes: Slice<UnsafeRawBufferPointer>, _ loop: EventLoop) {
        unsent.append(contentsOf: bytes)
        watch(loop)
    }

    /// Sends as much as the kernel accepts. `false` if the connection broke.
    mutating func sendRest(_ loop: EventLoop) -> Bool {
        let count = unsent.withUnsafeBytes { bytes in
            send(descriptor, bytes.baseAddress! + sent, bytes.count - sent, WebSocketServer.sendFlags)
        }
        guard count >= 0 else { return errno == EAGAIN || errno == EINTR }
        sent += count
        guard sent == unsent.count else { return true }
        unsent = []
        sent = 0
        watch(loop)
        return true
    }
}
