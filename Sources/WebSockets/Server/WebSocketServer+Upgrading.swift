import CLibWebSockets
import EventLoops
import Glibc

/// Turns a request into a WebSocket: the server's own, or over TLS one of libwebsockets.
///
/// libwebsockets makes a WebSocket only from a head that it has read. So it gets a constant head (`clws_upgrade_head`),
/// as bytes that have been read already, and before it sends its answer, the server replaces this with the answer to
/// the client's own request. Only the last byte of that request, a line feed, reaches libwebsockets' parser, which
/// mistakes unknown header names for the beginnings of known ones.
extension WebSocketServer {
    /// The head that libwebsockets reads, without its last byte: that comes from the client's own head.
    private static let upgradeHead = Array(String(cString: clws_upgrade_head()).utf8.dropLast())

    struct Upgrade {
        let socket: SocketID
        let request: UpgradeRequest
        let subprotocol: String?
    }

    /// Returns whether there is more to do now.
    func upgrade(_ index: Int, _ http: HTTPConnection, _ request: HTTPRequest) -> Bool {
        let upgrade: UpgradeRequest
        do {
            upgrade = try UpgradeRequest(checking: request)
        } catch {
            let reason = String(decoding: error.response.body, as: UTF8.self).split(separator: "\n").first ?? ""
            var response = configuration.errorResponse(error.response.status, String(reason))
            response.headers += error.response.headers.filter { $0.name != "Content-Type" }
            return refuse(index, http, response)
        }
        if case .refuse(let response) = delegate.shouldUpgrade(upgrade) { return refuse(index, http, response) }
        let known = upgrade.subprotocols.first(where: configuration.subprotocols.contains)
        guard known != nil || upgrade.subprotocols.isEmpty else {
            return refuse(
                index, http, configuration.errorResponse(400, "none of the offered subprotocols is spoken here"))
        }
        http.cancel()
        letGoAll(of: http)
        let accepted = Upgrade(socket: table.id(index), request: upgrade, subprotocol: known)
        if let wsi = table[index].wsi {
            release(wsi, accepted)
        } else {
            accept(index, http, accepted)
        }
        return false
    }

    /// Answers the request of a connection without TLS, which then is a WebSocket.
    private func accept(_ index: Int, _ http: HTTPConnection, _ upgrade: Upgrade) {
        // Frames that arrived with the request.
        let early = http.input
        table[index].descriptor = http.descriptor
        table[index].source = FrameSource.make(
            self, upgrade.socket, descriptor: http.descriptor, isWatched: http.wasWatched)
        guard encodeResponse(upgrade).withUnsafeBytes({ sendDirectly($0, index) }) else { return }
        depth += 1
        defer { depth -= 1 }
        open(index, upgrade)
        beginReading(upgrade.socket, early)
    }

    private static let answerHead = Array(
        ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\nConnection: Upgrade\r\n"
            + "Sec-WebSocket-Accept: ").utf8)

    private func encodeResponse(_ upgrade: Upgrade) -> [UInt8] {
        let key = upgrade.request.request.headers["sec-websocket-key"] ?? ""
        var head: [UInt8] = []
        head.reserveCapacity(256)
        head += Self.answerHead
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 29) { accept in
            clws_accept_key(key, accept.baseAddress)
            head += UnsafeRawBufferPointer(start: accept.baseAddress, count: 28)
        }
        if let subprotocol = upgrade.subprotocol {
            head += "\r\nSec-WebSocket-Protocol: ".utf8
            head += subprotocol.utf8
        }
        head += "\r\nX-Request-Id: ".utf8
        head += upgrade.request.request.name.utf8
        head += "\r\n\r\n".utf8
        return head
    }

    /// Announces the WebSocket.
    func open(_ index: Int, _ upgrade: Upgrade) {
        table[index].extras?.http?.cancel()
        table[index].extras = nil
        table[index].block = configuration.inbox.block(of: upgrade.request.peer)
        table[index].state = .open
        table.markUpgraded(index)
        resumeAfterHandshake()
        guard openCount < configuration.maxConnections else {
            counters.turnedAway += 1
            return beginClosing(index, code: 1013, reason: delegate.reasonWhenFull())
        }
        counters.opened += 1
        openCount += 1
        table[index].isAnnounced = true
        delegate.opened(table.id(index), request: upgrade.request)
    }

    // MARK: - By libwebsockets

    /// Lets libwebsockets read from a connection over TLS: first the last byte of its head.
    private func release(_ wsi: OpaquePointer, _ upgrade: Upgrade) {
        upgrading = upgrade
        defer { upgrading = nil }
        lws_rx_flow_control(wsi, 1)
        _ = clws_service(wsi)
        guard let index = table.index(upgrade.socket), !table[index].isSettled else { return }
        doom(index)
    }

    /// Passes a connection to libwebsockets, which then owns its descriptor.
    func adopt(_ descriptor: Int32, _ socket: SocketID, _ host: OpaquePointer) {
        adopting = socket
        let wsi = Self.upgradeHead.withUnsafeBytes { bytes in
            // On failure it closes the descriptor.
            lws_adopt_socket_vhost_readbuf(
                host, descriptor, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count)
        }
        adopting = nil
        guard let wsi, let index = table.index(socket) else { return }
        table[index].wsi = wsi
        // libwebsockets' own timer for this is in a sorted list; ours is in a queue.
        lws_set_timeout(wsi, NO_PENDING_TIMEOUT, 0)
    }

    /// libwebsockets has made its own object for the connection that it is given.
    func beginAdoption(of wsi: OpaquePointer) {
        guard let adopting, let index = table.index(adopting) else { return }
        lws_set_opaque_user_data(wsi, Self.opaque(adopting))
        table[index].wsi = wsi
        // Before libwebsockets has bytes: later, this call would also make it wait until the socket can be written.
        lws_rx_flow_control(wsi, 0)
    }

    /// libwebsockets has made its answer. Returns 0 to send it, -1 to end the connection.
    func respondToUpgrade(_ index: Int, _ arguments: UnsafeMutableRawPointer?) -> Int32 {
        guard let upgrading, upgrading.socket == table.id(index), let arguments else { return -1 }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 29) { accept in
            clws_accept_key(upgrading.request.request.headers["sec-websocket-key"] ?? "", accept.baseAddress)
            return clws_answer_upgrade(
                arguments, accept.baseAddress, upgrading.subprotocol, upgrading.request.request.name)
        }
    }
}
