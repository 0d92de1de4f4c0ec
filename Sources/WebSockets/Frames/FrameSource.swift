import CLibEV
import EventLoops

/// What an open connection without TLS is read with.
///
/// libev links its watcher, so it has a place of its own in memory: `make` allocates it, and `free` gives it back.
struct FrameSource {
    private var watcher = ev_io()
    /// Unretained: a server outlives its connections.
    private let server: Unmanaged<WebSocketServer>
    private let socket: SocketID
    var reader = FrameReader()
    /// libwebsockets has done its part, and reads no more.
    var hasBegun = false
    /// Nothing is taken for now.
    var isPaused = false
    /// The peer sends no more.
    var isAtEnd = false
    /// To be ended once everything has been written.
    var hangsUp = false
    /// The beginning of a control frame's payload.
    var control: [UInt8] = []
    /// The answer to the latest ping, which waits for room in the socket.
    var pong: [UInt8] = []
    /// What was read and not taken, because the connection was paused. It stands in the inbox' budget.
    var rest: [UInt8] = []

    private init(_ server: WebSocketServer, _ socket: SocketID) {
        self.server = .passUnretained(server)
        self.socket = socket
    }

    static func make(_ server: WebSocketServer, _ socket: SocketID, descriptor: Int32) -> UnsafeMutablePointer<Self> {
        let place = UnsafeMutablePointer<Self>.allocate(capacity: 1)
        place.initialize(to: Self(server, socket))
        clibev_io_init(
            &place.pointee.watcher,
            { _, watcher, _ in
                let source = watcher!.pointee.data.assumingMemoryBound(to: FrameSource.self)
                source.pointee.server.takeUnretainedValue().readFrames(source.pointee.socket)
            },
            descriptor, Int32(EV_READ), place)
        return place
    }

    static func free(_ place: UnsafeMutablePointer<Self>, _ loop: EventLoop) {
        ev_io_stop(loop.raw, &place.pointee.watcher)
        place.deinitialize(count: 1)
        place.deallocate()
    }

    /// Watches the connection exactly when something can be taken from it.
    mutating func watch(_ loop: EventLoop) {
        if hasBegun, !isPaused, !isAtEnd, rest.isEmpty {
            ev_io_start(loop.raw, &watcher)
        } else {
            ev_io_stop(loop.raw, &watcher)
        }
    }
}
