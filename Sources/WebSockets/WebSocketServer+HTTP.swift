import CLibWebSockets
import EventLoops

/// Plain HTTP/1.1 and upgrades.
///
/// Responses are written as bytes of our own making: libwebsockets' `lws_return_http_status` speaks HTTP/1.0, which
/// strict clients refuse to read.
extension WebSocketServer {
    /// Answers a request; does nothing if its client is gone, or it was answered already.
    public func respond(_ exchange: HTTPExchangeID, _ response: HTTPResponse) {
        guard let index = table.index(exchange.socket), table[index].state == .http,
            let pending = table[index].extras?.exchange, pending.stage == .answering, pending.number == exchange.number
        else { return }
        pending.stage = .answered
        if response.isLast { pending.keepsAlive = false }
        pending.response = response.encoded(keepAlive: pending.keepsAlive, withBody: !pending.isHead)
        lws_rx_flow_control(table[index].wsi, 1)
        // Written in `writeResponse`, where libwebsockets can go on to the next request or hang up.
        lws_callback_on_writable(table[index].wsi)
    }

    private func request(_ index: Int, _ headers: HeaderTable) -> HTTPRequest? {
        guard let extras = table[index].extras, let peer = extras.peer, var request = headers.request(from: peer) else {
            return nil
        }
        if extras.seal != nil {
            // It came between our look and libwebsockets' reading.
            counters.tlsHandshakes += 1
            breakSeal(index)
        }
        request.peer = configuration.proxies.client(of: peer, request.headers["x-forwarded-for"])
        request.isSecure = table[index].isSecure
        request.tag = extras.tag
        return request
    }

    // MARK: - Upgrades

    func confirmUpgrade(_ index: Int, _ wsi: OpaquePointer) -> Int32 {
        let headers = HeaderTable(wsi)
        guard let request = request(index, headers), headers.isWhole else {
            return refuse(index, configuration.errorResponse(400, "the request line is malformed"))
        }
        do {
            let upgrade = try UpgradeRequest(checking: request)
            switch delegate.shouldUpgrade(upgrade) {
            case .refuse(let response):
                return refuse(index, response)
            case .accept:
                let known = upgrade.subprotocols.contains(where: configuration.subprotocols.contains)
                guard known || upgrade.subprotocols.isEmpty else {
                    return refuse(
                        index, configuration.errorResponse(400, "none of the offered subprotocols is spoken here"))
                }
                upgrading = (wsi, upgrade)
                return 0
            }
        } catch {
            let reason = String(decoding: error.response.body, as: UTF8.self).split(separator: "\n").first ?? ""
            var response = configuration.errorResponse(error.response.status, String(reason))
            response.headers += error.response.headers.filter { $0.name != "Content-Type" }
            return refuse(index, response)
        }
    }

    /// Answers for the last time; -1, which hangs up.
    private func refuse(_ index: Int, _ response: HTTPResponse) -> Int32 {
        _ = response.encoded(keepAlive: false).withUnsafeBytes { send($0, index) }
        return -1
    }

    // MARK: - Requests

    func beginRequest(_ index: Int, _ wsi: OpaquePointer) -> Int32 {
        let headers = HeaderTable(wsi)
        guard let extras = table[index].extras, var request = request(index, headers),
            headers.isWhole || extras.target != nil
        else {
            return refuse(index, configuration.errorResponse(400, "the request line is malformed"))
        }
        // A line break out of the path: what follows it is no header of the client's.
        if !headers.isWhole { request.headers = [:] }
        let exchange = extras.exchange ?? HTTPExchange()
        extras.exchange = exchange
        table[index].state = .http
        exchange.number &+= 1
        exchange.request = request
        if exchange.number == 1 { exchange.request?.target = extras.target }
        extras.target = nil
        exchange.isHead = request.method == "HEAD"
        exchange.keepsAlive = headers.keepsAlive && headers.isWhole
        exchange.stage = .receiving
        counters.requests += 1

        let length = request.headers["content-length"]
        let mayHaveBody = ["POST", "PUT", "PATCH"].contains(request.method)
        if mayHaveBody && length == nil {
            guard request.headers["transfer-encoding"] == nil else {
                return refuseBody(index, configuration.errorResponse(411, "the header Content-Length is required"))
            }
            // No length is no body (RFC 9112, 6.3); libwebsockets would wait for one on this connection.
            exchange.keepsAlive = false
        }
        guard request.headers["transfer-encoding"] == nil,
            let expected = length.map({ $0.utf8.allSatisfy { 48...57 ~= $0 } ? Int($0) : nil }) ?? 0
        else {
            return refuse(
                index, configuration.errorResponse(400, "a body's length must be told, as a number, in Content-Length"))
        }
        guard expected <= configuration.maxBodyBytes else {
            return refuseBody(
                index, configuration.errorResponse(413, "a body has at most \(configuration.maxBodyBytes) bytes"))
        }
        if expected == 0 { return dispatch(index, wsi, exchange) }
        guard !isReadAhead(exchange, wsi, isSecure: table[index].isSecure) else {
            return refuse(
                index,
                configuration.errorResponse(
                    400, "a request with a body must not be sent before the last one is answered"))
        }
        exchange.request?.body.reserveCapacity(expected)
        if request.headers["expect"]?.lowercased() == "100-continue" {
            _ = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8).withUnsafeBytes { send($0, index) }
        }
        return 0
    }

    /// Whether libwebsockets found the whole head of this request among bytes that it had read with an earlier one.
    ///
    /// Of such a request libwebsockets 4.1.6 takes the head for the body, and then loops for ever. Clients must not
    /// send requests with bodies ahead anyway.
    ///
    /// Over TLS the kernel's count tells nothing of what was decrypted, so there any but the first request is taken
    /// for one.
    private func isReadAhead(_ exchange: HTTPExchange, _ wsi: OpaquePointer, isSecure: Bool) -> Bool {
        exchange.number > 1 && (isSecure || clws_bytes_read(wsi) <= exchange.bytesRead)
    }

    func receiveBody(_ index: Int, _ piece: UnsafeRawBufferPointer) {
        guard table[index].state == .http, let exchange = table[index].extras?.exchange, exchange.stage == .receiving
        else {
            return
        }
        exchange.request?.body.append(contentsOf: piece)
    }

    /// libwebsockets may call this once more when the next request comes early.
    func endBody(_ index: Int, _ wsi: OpaquePointer) -> Int32 {
        if table[index].state == .draining { return -1 }
        guard let exchange = table[index].extras?.exchange, exchange.stage == .receiving else { return 0 }
        return dispatch(index, wsi, exchange)
    }

    /// Hands the whole request to the delegate. Nothing is read until it is answered: in this state libwebsockets
    /// would not, and the loop would spin over what has come.
    private func dispatch(_ index: Int, _ wsi: OpaquePointer, _ exchange: HTTPExchange) -> Int32 {
        guard let request = exchange.request else { return -1 }
        exchange.request = nil
        exchange.stage = .answering
        lws_rx_flow_control(wsi, 0)
        lws_set_timeout(wsi, PENDING_TIMEOUT_HTTP_CONTENT, Int32(configuration.httpTimeout))
        delegate.request(HTTPExchangeID(socket: table.id(index), number: exchange.number), request)
        return 0
    }

    func writeResponse(_ index: Int, _ wsi: OpaquePointer) -> Int32 {
        guard table[index].state == .http, let exchange = table[index].extras?.exchange else { return 0 }
        if exchange.stage == .leaving { return leave(wsi) }
        guard exchange.stage == .answered else { return 0 }
        let response = exchange.response
        exchange.response = []
        exchange.stage = exchange.keepsAlive ? .idle : .leaving
        guard response.withUnsafeBytes({ send($0, index) }) else { return -1 }
        guard exchange.keepsAlive else { return leave(wsi) }
        table[index].extras?.since = loop.now
        idles.add(table.id(index), now: loop.now)
        armDeadlines()
        exchange.bytesRead = clws_bytes_read(wsi)
        return lws_http_transaction_completed(wsi) == 0 ? 0 : -1
    }

    /// Hangs up as soon as the kernel has everything.
    private func leave(_ wsi: OpaquePointer) -> Int32 {
        guard lws_partial_buffered(wsi) != 0 else { return -1 }
        lws_callback_on_writable(wsi)
        return 0
    }

    /// Answers a request whose body we will not take. Hanging up while the client still sends would make its kernel
    /// throw our answer away, so what comes is read and dropped until it is done, or `closeTimeout` is over.
    private func refuseBody(_ index: Int, _ response: HTTPResponse) -> Int32 {
        guard response.encoded(keepAlive: false).withUnsafeBytes({ send($0, index) }) else { return -1 }
        table[index].state = .draining
        closings.add(table.id(index), now: loop.now)
        armDeadlines()
        return 0
    }
}
