/// All TCP connections of a server: those that shake hands, speak HTTP, or are WebSockets.
///
/// Entries have dense indices, which are reused. libwebsockets keeps the entry's id for each of its connections (as
/// "opaque user data"), and a watcher that of its own, so finding one costs an array access.
struct ConnectionTable {
    enum State: UInt8 {
        /// Nobody has this index.
        case free
        /// Accepted; no head of a request has come yet.
        case handshaking
        /// Speaks HTTP.
        case http
        /// A WebSocket that the delegate knows of.
        case open
        /// We sent a close frame and wait for the peer's, or for the deadline. What arrives is thrown away.
        case closing
        /// Refused over HTTP; the rest of the request's body is thrown away until the peer is done, or the deadline.
        case draining
    }

    /// What waits until the socket takes more.
    enum Unsent: UInt8 {
        case nothing
        /// Answers of the server's own. The delegate does not know of it, and may write once more.
        case answers
        /// A part of what the delegate wrote: it writes no more before it hears `writable`.
        case writes
    }

    /// 64 bytes, of which writing needs the first half.
    ///
    /// (The booleans behind `ownCode` fill a gap.)
    struct Entry {
        /// libwebsockets' connection, if it speaks TLS and has said hello.
        var wsi: OpaquePointer?
        var generation: UInt32 = 0
        /// That of a WebSocket without TLS, which owns it; -1 for all others.
        var descriptor: Int32 = -1
        var state = State.free
        /// The delegate was told `opened`, and has to be told `closed`.
        var isAnnounced = false
        var unsent = Unsent.nothing
        /// To be ended at the end of this turn.
        var isDoomed = false
        /// The code that we closed with; 0 if we did not.
        var ownCode: UInt16 = 0
        /// It speaks TLS.
        var isSecure = false
        /// It is a WebSocket, or was one.
        var isSettled = false
        /// The fragments of a message that is not whole yet.
        var message: [UInt8] = []
        /// What it is read and written with, if it is a WebSocket without TLS. Owned; freed before the entry is removed.
        var source: UnsafeMutablePointer<FrameSource>?
        var extras: Extras?
        /// As what a WebSocket counts in the inbox' budget.
        var block = AddressBlock.none
        /// Its messages may have as many bytes as any.
        var mayBeLong = false
        /// Frames that ended no message, and of which the delegate was not told yet.
        var idleFrames: UInt16 = 0
    }

    /// What an open WebSocket does without: before the upgrade, while HTTP is spoken, and when it closes.
    final class Extras {
        let peer: PeerAddress?
        /// When it was accepted, or its last request was answered.
        var since: Int64
        /// That of the listener that it came through.
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
    /// How many are in use.
    var count: Int { entries.count - free.count }
    /// How many of these are no WebSockets, nor were.
    var unsettledCount: Int { count - settledCount }
    private var settledCount = 0

    /// Without checking the generation: for an index that libwebsockets itself just gave.
    subscript(index: Int) -> Entry {
        get { entries[index] }
        _modify { yield &entries[index] }
    }

    /// The index of a connection that still lives, nil otherwise.
    func index(_ socket: SocketID) -> Int? {
        let index = Int(socket.index)
        guard index < entries.count, entries[index].generation == socket.generation, entries[index].state != .free
        else { return nil }
        return index
    }

    /// Where an open connection is written to, unless it is congested, or about to end.
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
        /// -1 if it cannot be written to directly: it speaks TLS, or something waits already.
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

    /// It has become a WebSocket.
    mutating func settle(_ index: Int) {
        entries[index].isSettled = true
        settledCount += 1
    }

    mutating func remove(_ index: Int) {
        if entries[index].isSettled { settledCount -= 1 }
        entries[index] = Entry(generation: entries[index].generation &+ 1)
        free.append(UInt32(index))
    }
}
