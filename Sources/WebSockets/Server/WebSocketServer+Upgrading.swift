import CLibWebSockets
import EventLoops
import Glibc

/// From a request to a WebSocket of libwebsockets.
///
/// libwebsockets makes one only of a head that it has read. So it is given a head that is always the same
/// (`clws_upgrade_head`), as bytes that have been read already, and before it sends its answer, this is made the answer
/// to the client's own request. Nothing of that request reaches libwebsockets' parser, which takes unknown names of
/// headers for beginnings of known ones. (Over TLS the last byte does, a line feed.)
extension WebSocketServer {
    /// What libwebsockets reads first.
    static let upgradeHead = String(cString: clws_upgrade_head()).utf8.map { $0 }

    struct Upgrade {
        let socket: SocketID
        let request: UpgradeRequest
        let subprotocol: String?
    }

    /// Whether there is more to do at once.
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
        handOver(index, http, Upgrade(socket: table.id(index), request: upgrade, subprotocol: known))
        return false
    }

    private func handOver(_ index: Int, _ http: HTTPConnection, _ upgrade: Upgrade) {
        http.cancel()
        letGo(http.held)
        http.held = 0
        upgrading = upgrade
        defer { upgrading = nil }
        if let wsi = table[index].wsi { return release(wsi, upgrade.socket) }
        // Frames that were sent too early.
        let early = http.input
        http.input = []
        table[index].extras?.http = nil
        guard let context else { return }
        adopt(http.descriptor, upgrade.socket, context.plain, Self.upgradeHead)
        endUnlessOpen(upgrade.socket)
        beginReading(upgrade.socket, early)
    }

    /// Lets libwebsockets read from a connection over TLS: first the last byte of its head.
    private func release(_ wsi: OpaquePointer, _ socket: SocketID) {
        lws_rx_flow_control(wsi, 1)
        _ = clws_service(wsi)
        endUnlessOpen(socket)
    }

    private func endUnlessOpen(_ socket: SocketID) {
        guard let index = table.index(socket), !table[index].isSettled else { return }
        if table[index].wsi == nil { forget(index) } else { doom(index) }
    }

    /// Gives a connection to libwebsockets, with the bytes that it is to read first. It owns the descriptor from then on.
    func adopt(_ descriptor: Int32, _ socket: SocketID, _ host: OpaquePointer, _ bytes: some Collection<UInt8>) {
        let bytes = Array(bytes)
        adopting = socket
        let wsi = bytes.withUnsafeBytes { bytes in
            // On failure it closes the descriptor.
            lws_adopt_socket_vhost_readbuf(
                host, descriptor, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count)
        }
        adopting = nil
        guard let wsi, let index = table.index(socket) else { return }
        table[index].wsi = wsi
        // libwebsockets' own timer for it would stand in a sorted list; ours is in a queue.
        lws_set_timeout(wsi, NO_PENDING_TIMEOUT, 0)
    }

    // MARK: - What libwebsockets tells

    /// It has made its own of the connection that it is being given.
    func beginAdoption(of wsi: OpaquePointer) {
        guard let adopting, let index = table.index(adopting) else { return }
        lws_set_opaque_user_data(wsi, Self.opaque(adopting))
        table[index].wsi = wsi
        // Before it holds bytes: afterwards this would also have it wait until the socket can be written.
        if table[index].isSecure { lws_rx_flow_control(wsi, 0) }
    }

    /// It has made its answer. 0 to send it, -1 to end the connection.
    func answerUpgrade(_ index: Int, _ arguments: UnsafeMutableRawPointer?) -> Int32 {
        guard let upgrading, upgrading.socket == table.id(index), let arguments else { return -1 }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 29) { accept in
            clws_accept_key(upgrading.request.request.headers["sec-websocket-key"] ?? "", accept.baseAddress)
            return clws_answer_upgrade(
                arguments, accept.baseAddress, upgrading.subprotocol, upgrading.request.request.name)
        }
    }
}
