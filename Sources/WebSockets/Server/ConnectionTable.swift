/// All TCP connections of a server: in handshakes, in HTTP, or WebSockets.
///
/// Entries have dense indices, which are reused. libwebsockets stores the entry's id with each of its connections (as
/// "opaque user data"), and so does a watcher, so finding an entry costs one array access.
struct ConnectionTable {
    enum State: UInt8 {
        /// The index is unused.
        case free
        /// Accepted; no complete head has arrived yet.
        case handshaking
        /// In HTTP.
        case http
        /// A WebSocket that was announced to the delegate.
        case open
        /// The server sent a close frame and waits for the peer's, or for the deadline. Input is discarded.
        case closing
        /// Rejected over HTTP; the rest of the request's body is discarded until the peer ends, or until the deadline.
        case draining
    }

    /// The bytes that wait until the socket accepts more.
    enum Unsent: UInt8 {
        case nothing
        /// Answers of the server's own. The delegate does not know of them, and may write once more.
        case answers
        /// A part of the delegate's write: the delegate waits for `writable` before it writes again.
        case writes
    }

    /// 64 bytes; writing needs only the first half.
    ///
    /// (The booleans after `ownCode` fill a gap.)
    struct Entry {
        /// libwebsockets' connection, for TLS after the client's hello.
        var wsi: OpaquePointer?
        var generation: UInt32 = 0
        /// The descriptor of a WebSocket without TLS, which owns it; -1 for all other connections.
        var descriptor: Int32 = -1
        var state = State.free
        /// The delegate was called with `opened`, so it must be called with `closed`.
        var isAnnounced = false
        var unsent = Unsent.nothing
        /// Will be ended at the end of this turn.
        var isDoomed = false
        /// The code of the server's close frame; 0 without one.
        var ownCode: UInt16 = 0
        /// Whether it uses TLS.
        var isSecure = false
        /// Whether it is or was a WebSocket.
        var isSettled = false
        /// The fragments of an incomplete message.
        var message: [UInt8] = []
        /// The state for reading and writing a WebSocket without TLS. Owned; freed before the entry is removed.
        var source: UnsafeMutablePointer<FrameSource>?
        var extras: Extras?
        /// The address block under which the inbox' budget counts a WebSocket.
        var block = AddressBlock.none
        /// Whether its messages may have `maxMessageBytes`.
        var mayBeLong = false
        /// Frames that ended no message, and that were not reported to the delegate yet.
        var idleFrames: UInt16 = 0
    }

    /// State that an open WebSocket does not need: before the upgrade, in HTTP, and while closing.
    final class Extras {
        let peer: PeerAddress?
        /// When it was accepted, or its last request was answered.
        var since: Int64
        /// The tag of the listener that accepted it.
        let tag: UInt8
        /// Until it is a WebSocket.
        var http: HTTPConnection?
        var closure: Closure?

        init(peer: PeerAddress? = nil, tag: UInt8 = 0, since: Int64 = 0) {
            self.peer = peer
            self.since = since
            self.tag = tag
        }
    }

    private(set) var entries: [Entry] = []
    private var free: [UInt32] = []
    /// The number of connections.
    var count: Int { entries.count - free.count }
    /// The number of connections that never were WebSockets.
    var unsettledCount: Int { count - settledCount }
    private var settledCount = 0

    /// Does not check the generation: for an index that libwebsockets has just passed.
    subscript(index: Int) -> Entry {
        get { entries[index] }
        _modify { yield &entries[index] }
    }

    /// The index of a connection that still exists, otherwise nil.
    func index(_ socket: SocketID) -> Int? {
        let index = Int(socket.index)
        guard index < entries.count, entries[index].generation == socket.generation, entries[index].state != .free
        else { return nil }
        return index
    }

    /// The target for writing to an open connection, unless it is congested, or about to end.
    func writable(_ socket: SocketID) -> Writable? {
        let index = Int(socket.index)
        guard index < entries.count else { return nil }
        return entries.withUnsafeBufferPointer { entries in
            guard entries[index].generation == socket.generation, entries[index].state == .open,
                entries[index].unsent != .writes, !entries[index].isDoomed
            else { return nil }
            let isFree = entries[index].unsent == .nothing
            return Writable(index: index, descriptor: isFree ? entries[index].descriptor : -1)
        }
    }

    struct Writable {
        let index: Int
        /// -1 if the connection cannot be written to directly, because of TLS or because bytes wait already.
        let descriptor: Int32
    }

    func id(_ index: Int) -> SocketID {
        SocketID(index: UInt32(index), generation: entries[index].generation)
    }

    mutating func add(from peer: PeerAddress, over kind: ListenerKind, now: Int64) -> SocketID {
        let index: Int
        if let reused = free.popLast() {
            index = Int(reused)
        } else {
            index = entries.count
            entries.append(Entry())
        }
        entries[index].state = .handshaking
        entries[index].isSecure = kind.isSecure
        entries[index].extras = Extras(peer: peer, tag: kind.tag, since: now)
        return id(index)
    }

    /// Records that the connection is now a WebSocket.
    mutating func markUpgraded(_ index: Int) {
        entries[index].isSettled = true
        settledCount += 1
    }

    mutating func remove(_ index: Int) {
        if entries[index].isSettled { settledCount -= 1 }
        entries[index] = Entry(generation: entries[index].generation &+ 1)
        free.append(UInt32(index))
    }
}
