import CLibWebSockets
import EventLoops
import Glibc

/// Plain HTTP/1.1: requests and their answers. Only `RequestHeadReader` parses requests.
extension WebSocketServer {
    /// Answers a request. Does nothing if its client has disconnected, or it was answered already.
    ///
    /// - Parameter noted: gets the actual status before it is sent: 503 if too much waits for clients.
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
        // (The output may begin with a part of "100 Continue".)
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

    /// Whether the requesting client accepts gzip-compressed answers.
    public func acceptsGzip(_ exchange: HTTPExchangeID) -> Bool { connection(of: exchange)?.acceptsGzip ?? false }

    /// Whether the requesting client is still connected.
    public func isAwaited(_ exchange: HTTPExchangeID) -> Bool { connection(of: exchange) != nil }

    private func connection(of exchange: HTTPExchangeID) -> HTTPConnection? {
        guard let index = table.index(exchange.socket), let http = table[index].extras?.http,
            http.number == exchange.number
        else { return nil }
        return http
    }

    // MARK: - Requests

    /// Called with a complete head. Returns whether there is more to do now.
    ///
    /// - Parameter isUpgrade: whether it requests a WebSocket.
    func begin(_ index: Int, _ http: HTTPConnection, _ head: RequestHead, isUpgrade: Bool) -> Bool {
        guard let extras = table[index].extras, let peer = extras.peer else { return false }
        http.number &+= 1
        var request = HTTPRequest(
            head: head, peer: configuration.proxies.client(of: peer, head.headers["x-forwarded-for"]),
            isSecure: table[index].isSecure, tag: extras.tag)
        http.client = request.peer
        // The head determines in whose share the body's first bytes are counted.
        guard hold(http.input.count, for: http) else { return refuseForRoom(index, http) }
        http.requestName = requestNames.next(head.headers["x-request-id"])
        request.name = http.requestName
        http.isHead = head.method == "HEAD"
        if isUpgrade {
            // The body's bytes would be read as frames.
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
        // A request without a length has no body (RFC 9112, 6.3). If the client sent a body nevertheless, its bytes
        // would be read as the next request.
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
            // The body waits in the kernel meanwhile.
            http.pauseInput()
            begins(index)
            return false
        }
    }

    /// Accepts the body of a request for which the delegate returned `later`. Does nothing if the client has
    /// disconnected.
    ///
    /// - Parameters:
    ///   - grant: for the request.
    ///   - sink: receives the body in pieces, if set; cancelled if the client has disconnected.
    public func admit(_ exchange: HTTPExchangeID, grant: (any Sendable)?, sink: (any BodySink)? = nil) {
        guard let (index, http) = judged(exchange), var request = http.request else {
            sink?.cancel()
            return
        }
        request.grant = grant
        request.sink = sink
        if expectBody(index, http, request, http.missing) { advance(exchange.socket) }
    }

    /// Rejects the body; or, if the body's sink does not accept the rest of it, cancels the sink.
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

    /// Passes a complete request to the delegate. Returns whether there is more to do now.
    func dispatch(_ index: Int, _ http: HTTPConnection, _ request: HTTPRequest) -> Bool {
        http.stage = .answering
        // The next request waits in the kernel.
        http.pauseInput()
        begins(index)
        delegate.request(HTTPExchangeID(socket: table.id(index), number: http.number), request)
        return http.stage == .head || http.stage == .draining
    }

    /// Starts the time limit of the next step: of an answer, or of the next request.
    private func begins(_ index: Int) {
        table[index].extras?.since = loop.now
        guard let http = table[index].extras?.http, !http.isTimed else { return }
        http.isTimed = true
        idles.add(table.id(index), now: loop.now)
        armDeadlines()
    }

    // MARK: - Answers

    /// Sends the connection's last answer, and stops reading. Returns whether there is more to do now.
    func refuse(_ index: Int, _ http: HTTPConnection, _ response: HTTPResponse) -> Bool {
        http.request = nil
        http.keepsAlive = false
        http.stage = .writing
        http.movedAt = loop.now
        // Further input waits in the kernel.
        http.pauseInput()
        http.isSinkBehind = false
        http.dropStreams()
        wake(index, http, at: 1)
        http.output =
            http.output[http.written...]
            + response.encoded(
                keepAlive: false, withBody: !http.isHead, date: date.value(now: loop.now), request: http.requestName)
        http.written = 0
        // There may be no request whose answer has begun.
        table[index].state = .http
        begins(index)
        flush(index, http, lingers: true)
        return http.stage == .draining
    }

    /// Writes as much of the output as it can; the rest when there is room.
    ///
    /// - Parameter lingers: whether the client may still be sending.
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
        // Inside `advance` this does nothing: `advance` continues by itself.
        advance(table.id(index))
    }

    /// Returns the number of bytes written; 0 without room, -1 if the connection broke.
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

    /// The kernel has the last answer: closes, but first reads the client's further input.
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
        // Inside `advance` this does nothing: `advance` continues by itself.
        advance(table.id(index))
    }
}
