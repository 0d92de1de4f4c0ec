/// Takes the body of a request in pieces, so that no more of it is in memory than its taker wants.
///
/// Called on the server's loop only, which the taker never leaves. (It is `Sendable` because a request carries it.)
public protocol BodySink: AnyObject, Sendable {
    /// The next piece, in the order in which the client sent them. The bytes are lent for the call.
    ///
    /// - Returns: `false` if nothing more is to be read until ``WebSocketServer/resumeBody(_:)``. What has been read by then
    ///   does not exceed this piece; the rest waits in the kernel, and the client feels it.
    func take(_ bytes: UnsafeRawBufferPointer) -> Bool

    /// The body will not come whole: the client has gone, was too slow, or was refused. Nothing is called after it. A body
    /// that came whole ends with the delegate's `request` instead.
    func cancel()
}

/// Gives the body of an answer in pieces, each when the client has taken the one before.
///
/// Called on the server's loop only, which the source never leaves. (It is `Sendable` because an answer carries it.)
public protocol BodySource: AnyObject, Sendable {
    /// How many bytes it gives in all: they are announced before the first.
    var length: Int { get }

    /// Asks for the next piece. `then` is called once, on the loop and never within the call, with from one byte to as many
    /// as are left; or with `nil` if they cannot be had, which breaks the connection, since they were announced.
    func read(_ then: @escaping ([UInt8]?) -> Void)

    /// Nothing more is asked for: all was given, or the client has gone, or it wanted the head alone.
    func close()
}

extension HTTPConnection {
    /// An answer that is being given in pieces.
    struct Outflow {
        let source: any BodySource
        /// How many bytes the source has still to give.
        var left: Int
        /// It was asked for the next piece.
        var isReading = false
    }

    /// What is watched of a body on its way, in either direction: the bytes that move in each window of time.
    struct Transfer {
        /// In ms.
        private let window: Int64
        /// Bytes moved, and how many of them when the window began.
        private var moved = 0
        private var seen = 0
        /// When the window ends, in ms of the loop.
        private(set) var due: Int64

        init(window: Int64, now: Int64) {
            self.window = window
            due = now + window
        }

        mutating func move(_ bytes: Int) { moved += bytes }

        /// How many bytes have moved in this window.
        var progress: Int { moved - seen }

        /// A window begins, for instance when the server's own disk has had its time.
        mutating func beginWindow(now: Int64) {
            seen = moved
            due = now + window
        }
    }

    /// Ends what is on its way.
    func dropStreams() {
        transfer = nil
        let (sink, outflow) = (sink, outflow)
        self.sink = nil
        self.outflow = nil
        sink?.cancel()
        outflow?.source.close()
    }
}
