import CLibWebSockets
import EventLoops
import Glibc

/// Plain HTTP/1.1: requests and their answers. What they say was read by `RequestHeadReader` alone.
extension WebSocketServer {
    /// Answers a request; does nothing if its client is gone, or it was answered already.
    ///
    /// - Parameter noted: gets the status that goes out, before it does: 503 if too much waits for clients.
    public func respond(
        _ exchange: HTTPExchangeID, _ response: HTTPResponse, noted: (_ status: Int) -> Void = { _ in }
    ) {
        guard let index = table.index(exchange.socket), let http = table[index].extras?.http,
            http.stage == .answering, http.number == exchange.number
        else {
            response.source?.close()
            return
        }
        if response.isLast || isStopping { http.keepsAlive = false }
        let answer = admitted(response, http)
        noted(answer.status)
        http.stage = .writing
        http.movedAt = loop.now
        // (A part of "100 Continue" may stand before it.)
        http.output =
            http.output[http.written...]
            + answer.encoded(
                keepAlive: http.keepsAlive, withBody: !http.isHead, date: date.value(now: loop.now),
                request: http.requestName)
        http.written = 0
        if let source = answer.source {
            if http.isHead || source.length == 0 {
                source.close()
            } else {
                http.outflow = .init(source: source, left: source.length)
                watchTransfer(index, http)
            }
        }
        flush(index, http)
    }

    /// Whether the client that asked reads answers that are compressed with gzip.
    public func acceptsGzip(_ exchange: HTTPExchangeID) -> Bool { connection(of: exchange)?.acceptsGzip ?? false }

    /// Whether the client that asked is there still.
    public func isAwaited(_ exchange: HTTPExchangeID) -> Bool { connection(of: exchange) != nil }

    private func connection(of exchange: HTTPExchangeID) -> HTTPConnection? {
        guard let index = table.index(exchange.socket), let http = table[index].extras?.http,
            http.number == exchange.number
        else { return nil }
        return http
    }

    // MARK: - Requests

    /// A head is whole. Whether there is more to do at once.
    ///
    /// - Parameter isUpgrade: it asks for a WebSocket.
    func begin(_ index: Int, _ http: HTTPConnection, _ head: RequestHead, isUpgrade: Bool) -> Bool {
        guard let extras = table[index].extras, let peer = extras.peer else { return false }
        http.number &+= 1
        var request = HTTPRequest(
            head: head, peer: configuration.proxies.client(of: peer, head.headers["x-forwarded-for"]),
            isSecure: table[index].isSecure, tag: extras.tag)
        http.client = request.peer
        // From now on it is known whose share what has come of the body takes.
        guard hold(http.input.count, for: http) else { return refuseForRoom(index, http) }
        http.requestName = requestNames.next(head.headers["x-request-id"])
        request.name = http.requestName
        http.isHead = head.method == "HEAD"
        if isUpgrade {
            // Its bytes would be taken for frames.
            guard !head.isChunked, head.contentLength ?? 0 == 0 else {
                return refuse(index, http, configuration.errorResponse(400, "an upgrade has no body"))
            }
            return upgrade(index, http, request)
        }
        http.acceptsGzip = head.acceptsGzip
        table[index].state = .http
        counters.requests += 1
        http.keepsAlive = head.keepsAlive
        let mayHaveBody = ["POST", "PUT", "PATCH"].contains(head.method)
        // No length is no body (RFC 9112, 6.3). Of a client that sent one all the same, it would be the next request.
        if mayHaveBody && head.contentLength == nil && !head.isChunked { http.keepsAlive = false }
        let length = head.contentLength ?? 0
        guard length > 0 || head.isChunked else { return dispatch(index, http, request) }
        switch delegate.admission(of: &request, HTTPExchangeID(socket: table.id(index), number: http.number)) {
        case .granted: return expectBody(index, http, request, length)
        case .refused(let response): return refuse(index, http, response)
        case .later:
            http.stage = .judging
            http.request = request
            http.missing = length
            // What comes of the body meanwhile waits in the kernel.
            http.pauseInput()
            begins(index)
            return false
        }
    }

    /// The body of a request of which the delegate said `later` may come; does nothing if its client is gone.
    ///
    /// - Parameters:
    ///   - grant: for the request.
    ///   - sink: where the body goes in pieces, if it does; cancelled if the client is gone.
    public func admit(_ exchange: HTTPExchangeID, grant: (any Sendable)?, sink: (any BodySink)? = nil) {
        guard let (index, http) = judged(exchange), var request = http.request else {
            sink?.cancel()
            return
        }
        request.grant = grant
        request.sink = sink
        if expectBody(index, http, request, http.missing) { advance(exchange.socket) }
    }

    /// The same if it may not; or if its sink does not take the rest of it, which is then cancelled.
    public func refuse(_ exchange: HTTPExchangeID, _ response: HTTPResponse) {
        guard let (index, http) = judged(exchange) ?? streamed(exchange) else { return }
        if refuse(index, http, response) { advance(exchange.socket) }
    }

    private func judged(_ exchange: HTTPExchangeID) -> (Int, HTTPConnection)? {
        guard let index = table.index(exchange.socket), let http = table[index].extras?.http,
            http.stage == .judging, http.number == exchange.number, !table[index].isDoomed
        else { return nil }
        return (index, http)
    }

    private func streamed(_ exchange: HTTPExchangeID) -> (Int, HTTPConnection)? {
        guard let index = table.index(exchange.socket), let http = table[index].extras?.http,
            http.stage == .body, http.sink != nil, http.number == exchange.number, !table[index].isDoomed
        else { return nil }
        return (index, http)
    }

    /// Hands a whole request to the delegate. Whether there is more to do at once.
    func dispatch(_ index: Int, _ http: HTTPConnection, _ request: HTTPRequest) -> Bool {
        http.stage = .answering
        // The next request waits in the kernel.
        http.pauseInput()
        begins(index)
        delegate.request(HTTPExchangeID(socket: table.id(index), number: http.number), request)
        return http.stage == .head || http.stage == .draining
    }

    /// The time for the next step begins: for an answer, or for the next request.
    private func begins(_ index: Int) {
        table[index].extras?.since = loop.now
        guard let http = table[index].extras?.http, !http.isTimed else { return }
        http.isTimed = true
        idles.add(table.id(index), now: loop.now)
        armDeadlines()
    }

    // MARK: - Answers

    /// Answers for the last time, and takes in no more. Whether there is more to do at once.
    func refuse(_ index: Int, _ http: HTTPConnection, _ response: HTTPResponse) -> Bool {
        http.request = nil
        http.keepsAlive = false
        http.stage = .writing
        http.movedAt = loop.now
        // What comes meanwhile waits in the kernel.
        http.pauseInput()
        http.isSinkBehind = false
        http.dropStreams()
        wake(index, http, at: 1)
        http.output =
            http.output[http.written...]
            + response.encoded(
                keepAlive: false, withBody: !http.isHead, date: date.value(now: loop.now), request: http.requestName)
        http.written = 0
        // There may be no request that was begun to be answered.
        table[index].state = .http
        begins(index)
        flush(index, http, lingers: true)
        return http.stage == .draining
    }

    /// Writes what it can of the output; the rest when there is room.
    ///
    /// - Parameter lingers: the client may be sending still.
    func flush(_ index: Int, _ http: HTTPConnection, lingers: Bool = false) {
        while http.written < http.output.count {
            let count = write(index, http)
            if count > 0 {
                http.written += count
                http.movedAt = loop.now
                http.transfer?.move(count)
            } else if count == 0 {
                countOutput(http)
                let socket = table.id(index)
                return http.awaitRoom(loop) { [unowned self] in
                    guard let index = table.index(socket), let http = table[index].extras?.http else { return }
                    flush(index, http, lingers: lingers)
                }
            } else {
                return end(index, http)
            }
        }
        countOutput(http)
        guard http.stage == .writing else { return }
        http.output = []
        http.written = 0
        guard !pump(index, http, lingers: lingers) else { return }
        guard http.keepsAlive else { return leave(index, http, lingers: lingers) }
        http.stage = .head
        http.requestName = ""
        http.isHead = false
        begins(index)
        // Does nothing from inside `advance`, which goes on by itself.
        advance(table.id(index))
    }

    /// How many bytes were taken; 0 when there is no room, -1 when the connection broke.
    private func write(_ index: Int, _ http: HTTPConnection) -> Int {
        http.output.withUnsafeBytes { output in
            let rest = UnsafeRawBufferPointer(rebasing: output[http.written...])
            if let wsi = table[index].wsi {
                let count = Int(clws_tls_write(wsi, rest.baseAddress, Int32(min(rest.count, Self.readSize))))
                return count > 0 ? count : count == clws_tls_ended ? -1 : 0
            }
            let count = Glibc.send(
                http.descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
            return count >= 0 ? count : errno == EAGAIN || errno == EINTR ? 0 : -1
        }
    }

    /// The last answer is with the kernel: hangs up, but reads first what the client has sent beyond it.
    private func leave(_ index: Int, _ http: HTTPConnection, lingers: Bool) {
        if let wsi = table[index].wsi { clws_tls_bid_farewell(wsi) }
        Glibc.shutdown(http.descriptor, Int32(SHUT_WR))
        http.input = []
        http.hasUnreadInput = false
        letGoAll(of: http)
        http.stage = .draining
        table[index].state = .draining
        guard lingers else {
            while recv(http.descriptor, scratch.baseAddress, scratch.count, Int32(MSG_DONTWAIT)) == scratch.count {}
            return end(index, http)
        }
        closings.add(table.id(index), now: loop.now)
        armDeadlines()
        // Does nothing from inside `advance`, which goes on by itself.
        advance(table.id(index))
    }
}
