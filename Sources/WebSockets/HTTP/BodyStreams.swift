/// Receives the body of a request in pieces, so that only as much of it is in memory as the receiver wants.
///
/// Called on the server's loop only; the sink never leaves it. (It is `Sendable` because a request contains it.)
public protocol BodySink: AnyObject, Sendable {
    /// The next piece, in order. The bytes are valid during the call.
    ///
    /// - Returns: `false` to stop reading until ``WebSocketServer/resumeBody(_:)``. Bytes after this piece wait in the
    ///   kernel, which slows the client down.
    func receive(_ bytes: UnsafeRawBufferPointer) -> Bool

    /// The body will not be complete: the client has disconnected, was too slow, or was rejected. This is the last
    /// call. After a complete body the delegate's `request` is called instead.
    func cancel()
}

/// Supplies the body of an answer in pieces, each after the client has received the one before.
///
/// Called on the server's loop only; the source never leaves it. (It is `Sendable` because an answer contains it.)
public protocol BodySource: AnyObject, Sendable {
    /// The total number of bytes. It is announced before the first byte is sent.
    var length: Int { get }

    /// Requests the next piece. `then` is called once, on the loop, and never before this call has returned. It gets
    /// at least one byte, and at most the bytes that remain. `nil` means that the bytes cannot be read. Then the
    /// connection is dropped, because the number of bytes was announced.
    func read(_ then: @escaping ([UInt8]?) -> Void)

    /// The last call: all bytes were supplied, the client has disconnected, or it requested only the head.
    func close()
}

extension HTTPConnection {
    /// An answer whose body is supplied in pieces.
    struct Outflow {
        let source: any BodySource
        /// The number of bytes that the source must still supply.
        var left: Int
        /// Whether the next piece was requested.
        var isReading = false
    }

    /// The progress of a body that is received or sent: how many bytes move in each window of time.
    struct Transfer {
        /// In ms.
        private let window: Int64
        /// The number of all bytes that moved, and of those that moved before the window.
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

        /// Begins a window, for example when the server's own disk caused a delay.
        mutating func beginWindow(now: Int64) {
            seen = moved
            due = now + window
        }
    }

    /// Ends the streams in both directions.
    func dropStreams() {
        transfer = nil
        let (sink, outflow) = (sink, outflow)
        self.sink = nil
        self.outflow = nil
        sink?.cancel()
        outflow?.source.close()
    }
}
