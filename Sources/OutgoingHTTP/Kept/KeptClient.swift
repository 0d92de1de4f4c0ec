public import EventLoops

/// Calls one server by POST over HTTP/1.1 from one loop, on connections that stay open.
///
/// For calls on whose answer a user waits. All of a call happens on the loop, except that a connection is opened elsewhere,
/// which may block. It guarantees that
/// - loops that share `places` make no more calls at once than there are places; further calls wait for one, as long as for an
///   answer, and fail as `overloaded`. Connections are as many, but for moments in which one replaces another;
/// - each call ends once, at the latest a twentieth of the time limit after its end;
/// - while the server cannot be reached, one attempt to connect runs at a time, and 100 ms pass between two. Eight calls wait
///   for the next one; further calls fail at once;
/// - a call is made again only if a connection that was not new ends before any byte of the answer.
///
/// Confined to the loop's thread.
// @unchecked: as above.
public final class KeptClient: @unchecked Sendable {
    public struct Answer: Sendable {
        public let status: Int
        public let body: [UInt8]
    }

    public typealias Outcome = Result<Answer, OutgoingFailure>
    /// A connection, or the reason why there is none.
    public typealias Opening = Result<OpenedConnection, OutgoingFailure>
    /// Runs a function on a thread that may block, and passes its result on, on the loop.
    public typealias Elsewhere = (@escaping @Sendable () -> Opening, @escaping (Opening) -> Void) -> Void

    let loop: EventLoop
    private let order: TransferOrder
    private let head: [UInt8]
    private let places: CallPlaces
    private let patience: Int64
    let mostBytes: Int
    private let elsewhere: Elsewhere

    private var calls: [UInt64: KeptCall] = [:]
    private var lastNumber: UInt64 = 0
    /// Calls that have a place and wait for a connection, in order.
    private var ready: [UInt64] = []
    /// The connection that was used last is used first.
    private var idle: [KeptLine] = []
    /// Connections, idle or not.
    private var lines = 0
    private var opening = 0
    /// When the next attempt to open one may begin.
    private var openAt: Int64 = 0
    /// Why the server cannot be reached.
    private var gone: OutgoingFailure?
    private var timer: LoopTimer!
    private var isStopped = false
    /// For all answers.
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 16_384, alignment: 16)

    private static let mostOpening = 8
    /// Between two attempts to connect to a server that cannot be reached, in ms.
    private static let pauseOfAttempts: Int64 = 100
    /// Calls that wait for the next attempt.
    private static let mostHopeful = 8
    /// For how long an unused connection stays, in ms.
    private static let idleTime: Int64 = 30_000

    /// - Parameters:
    ///   - url: `http://…` or `https://…`.
    ///   - patience: How long a call waits for a place, and then for its answer, in ms.
    ///   - mostBytes: Of an answer's body.
    /// - Throws: `invalid`.
    public init(
        _ loop: EventLoop, url: String, userAgent: String, tls: OutgoingTLS = OutgoingTLS(), places: CallPlaces,
        patience: Int64, mostBytes: Int, elsewhere: @escaping Elsewhere
    ) throws(OutgoingFailure) {
        var request = OutgoingRequest("POST", url)
        request.tls = tls
        request.limits.connecting = Double(patience) / 1_000
        order = try TransferOrder(request)
        head = Self.head(url, userAgent)
        (self.loop, self.places, self.patience) = (loop, places, patience)
        (self.mostBytes, self.elsewhere) = (mostBytes, elsewhere)
        timer = LoopTimer(loop) { [unowned self] in lookAtTimes() }
        places.onTooManyConnections { [weak self] in
            loop.execute { [weak self] in self?.shed() }
        }
    }

    deinit { room.deallocate() }

    /// The failure with which a call would end at once, because the server cannot be reached.
    public var obstacle: OutgoingFailure? { ready.count < Self.mostHopeful ? nil : gone }

    /// Calls that have begun or wait.
    public var running: Int { calls.count }

    /// - Parameters:
    ///   - headers: Lines, each with its CR and LF.
    ///   - done: Called once, on the loop; also before this function returns.
    public func post(_ headers: String, _ body: [UInt8], done: @escaping (Outcome) -> Void) {
        guard !isStopped else { return done(.failure(.stopped)) }
        if let reason = obstacle { return done(.failure(reason)) }
        lastNumber += 1
        let number = lastNumber
        let place = places.take { [weak self, places, loop] in
            loop.execute { [weak self] in
                guard let self, let call = self.calls[number], case .place = call.waits else { return places.leave() }
                self.give(number)
            }
        }
        guard let place else { return done(.failure(.overloaded(retryAfter: 1))) }
        var bytes = head
        bytes.reserveCapacity(head.count + headers.utf8.count + body.count + 64)
        bytes += headers.utf8
        bytes += "content-length: \(body.count)\r\n\r\n".utf8
        bytes += body
        calls[number] = KeptCall(bytes: bytes, end: loop.now + patience, done: done)
        switch place {
        case .free: give(number)
        case .later(let wait): calls[number]?.waits = .place(wait)
        }
        setTimer()
    }

    /// Lets no further call begin, and ends all.
    public func stop() {
        isStopped = true
        for number in calls.keys.sorted() { end(number, .failure(.stopped)) }
        for line in idle { line.close() }
        idle = []
        timer.cancel()
    }

    // MARK: Calls

    /// A call has a place.
    private func give(_ number: UInt64) {
        calls[number]?.end = loop.now + patience
        connect(number)
    }

    /// Gives a call a connection, now or later.
    private func connect(_ number: UInt64) {
        calls[number]?.waits = .connection
        while let line = idle.popLast() {
            if line.isClean { return begin(number, on: line) }
            line.close()
        }
        ready.append(number)
        openIfNeeded()
    }

    private func begin(_ number: UInt64, on line: KeptLine) {
        guard let call = calls[number] else { return rest(line) }
        calls[number]?.waits = .answer(line)
        line.send(call.bytes, of: number)
    }

    func end(_ number: UInt64, _ outcome: Outcome) {
        guard let call = calls.removeValue(forKey: number) else { return }
        switch call.waits {
        case .place(let wait): places.stopWaiting(wait)
        case .connection:
            ready.removeAll { $0 == number }
            places.leave()
        case .answer(let line):
            line.forget(number)
            places.leave()
        }
        call.done(outcome)
    }

    /// The connection of a call has ended before its answer.
    func lost(_ number: UInt64, mayRepeat: Bool) {
        guard mayRepeat, calls[number] != nil else { return end(number, .failure(.broken)) }
        connect(number)
    }

    // MARK: Connections

    private func openIfNeeded() {
        while opening < min(gone == nil ? Self.mostOpening : 1, ready.count), loop.now >= openAt { open() }
    }

    private func open() {
        guard !isStopped else { return }
        opening += 1
        places.opened()
        elsewhere({ [order] in
            Result { () throws(OutgoingFailure) in OpenedConnection(try KeptConnection(to: order)) }
        }) { [weak self, places] result in
            guard let self, !isStopped else { return places.closed() }
            opening -= 1
            switch result {
            case .success(let opened):
                gone = nil
                lines += 1
                rest(KeptLine(opened.connection, self))
                openIfNeeded()
            case .failure(let reason):
                places.closed()
                openAt = loop.now + Self.pauseOfAttempts
                // Those that wait may get a connection that another call uses.
                guard lines == 0 else { return }
                gone = reason
                for number in ready { end(number, .failure(reason)) }
            }
        }
    }

    /// A connection has no call.
    func rest(_ line: KeptLine) {
        if ready.isEmpty {
            line.restsSince = loop.now
            idle.append(line)
            setTimer()
        } else {
            begin(ready.removeFirst(), on: line)
        }
    }

    /// There are too many connections: closes those that are not used, beginning with the oldest.
    private func shed() {
        while places.haveTooManyConnections, let line = idle.first { line.close() }
    }

    func closed(_ line: KeptLine) {
        lines -= 1
        places.closed()
        idle.removeAll { $0 === line }
    }

    // MARK: Times

    private var step: Int64 { max(1, patience / 20) }

    private func setTimer() {
        var at = loop.now + (calls.isEmpty ? Self.idleTime : step)
        if !ready.isEmpty, openAt > loop.now { at = min(at, openAt) }
        if timer.due.map({ $0 > at }) ?? true { timer.set(at: at) }
    }

    private func lookAtTimes() {
        let now = loop.now
        for (number, call) in calls where call.end <= now {
            if case .place = call.waits {
                end(number, .failure(.overloaded(retryAfter: 1)))
            } else {
                end(number, .failure(.timeout))
            }
        }
        for line in idle where (line.restsSince ?? now) + Self.idleTime <= now { line.close() }
        openIfNeeded()
        if !calls.isEmpty || !idle.isEmpty { setTimer() }
    }

    // MARK: The request

    /// The request line and the headers of all calls.
    private static func head(_ url: String, _ userAgent: String) -> [UInt8] {
        let rest = url[url.firstRange(of: "://")!.upperBound...]
        let host = rest.prefix { !"/?#".contains($0) }
        var path = rest.dropFirst(host.count).prefix { $0 != "#" }
        if !path.hasPrefix("/") { path = "/" + path }
        return Array("POST \(path) HTTP/1.1\r\nhost: \(host)\r\nuser-agent: \(userAgent)\r\naccept: */*\r\n".utf8)
    }
}

/// A connection that was opened elsewhere, on its way to the loop.
public struct OpenedConnection: Sendable {
    let connection: KeptConnection

    init(_ connection: KeptConnection) { self.connection = connection }
}

/// A call that is not over.
struct KeptCall {
    enum Wait {
        case place(UInt64)
        case connection
        case answer(KeptLine)
    }

    let bytes: [UInt8]
    /// In ms of the loop.
    var end: Int64
    let done: (KeptClient.Outcome) -> Void
    var waits = Wait.connection
}
