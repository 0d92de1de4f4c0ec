import Logging
import PresenceProtocol
import Synchronization
import WebSockets

/// The shard's sockets: between libwebsockets and the logic. Everything here is on the loop's thread.
final class ShardSockets: Sockets, WebSocketServerDelegate {
    /// Set once, before listening. The shard owns all three.
    unowned var logic: ShardLogic!
    var server: WebSocketServer!
    var api: HTTPAPI!

    private let clock: ShardClock
    private let now: () -> Milliseconds
    private let places: ConnectionPlaces
    private let addresses: AddressLimits
    private let proxies: TrustedProxies
    private var countedAddresses = CountedAddresses()
    /// Connections whose address has no room for another WebSocket.
    private var spare: Set<SocketID> = []
    private var nextAddressLog: Milliseconds = 0
    private let logger: Logger
    /// Connections that arrived when the process was full: they are only closed with a reason.
    private var turnedAway: Set<SocketID> = []

    private let origins: AllowedOrigins
    /// Upgrades of browsers whose page has another origin.
    private(set) var originsRefused = 0
    private var hasNoticedProxy = false

    init(
        clock: ShardClock, places: ConnectionPlaces, addresses: AddressLimits, proxies: TrustedProxies,
        origins: AllowedOrigins, logger: Logger, now: @escaping () -> Milliseconds
    ) {
        self.clock = clock
        self.places = places
        self.addresses = addresses
        self.proxies = proxies
        self.origins = origins
        self.logger = logger
        self.now = now
    }

    // MARK: Callbacks of libwebsockets

    /// A proxy's connection counts for the client whose request it forwards.
    func accepted(_ socket: SocketID, from peer: PeerAddress) -> Bool {
        if proxies.isTrusted(peer) { return true }
        switch addresses.reserve(peer) {
        case .uncounted: return true
        case .counted(let block):
            countedAddresses.set(block, socket)
            return true
        case .spare(let block):
            countedAddresses.set(block, socket)
            spare.insert(socket)
            return true
        case .none:
            clock.advance(to: now())
            recordAddressLimit(of: peer)
            return false
        }
    }

    func departed(_ socket: SocketID) {
        logic.jobs.cancel(of: socket)
        logic.trace?.end(socket)
        spare.remove(socket)
        if let block = countedAddresses.remove(socket) { addresses.release(block) }
    }

    package func admission(of request: inout HTTPRequest, _ exchange: HTTPExchangeID) -> BodyAdmission {
        clock.advance(to: now())
        return api.admission(of: &request, exchange)
    }

    func shouldUpgrade(_ request: UpgradeRequest) -> UpgradeDecision {
        noticeProxy(in: request.request)
        let route = Route(request.request.method, request.path, in: logic.registry.routes)
        let role = ListenerRole(rawValue: request.request.tag)
        guard case .webSocket = route, role?.leads(to: route, from: request.request.peer) ?? false else {
            return .refuse(.error(404, .init(code: .notFound, message: "there is nothing at this path")))
        }
        guard origins.allows(request.origin, host: request.request.host) else {
            originsRefused += 1
            clock.advance(to: now())
            logic.logSparsely(
                "origin refused: allowedOrigins does not name it", ["origin": Self.shown(request.origin ?? "")],
                level: .warning)
            let message = "pages of this origin may not connect here"
            return .refuse(.error(403, .init(code: .forbidden, message: message)))
        }
        return .accept
    }

    /// Text from an unknown client, shortened and made printable for the log.
    private static func shown(_ text: String) -> String {
        String(text.unicodeScalars.prefix(100).map { (0x21...0x7E).contains($0.value) ? Character($0) : "?" })
    }

    /// Warns of a proxy on this machine that is not configured: all its clients look like this machine, which is exempt
    /// from limits of addresses and may open pages of operators.
    private func noticeProxy(in request: HTTPRequest) {
        guard !hasNoticedProxy, !proxies.hasAny, request.peer.isLoopback, request.headers["x-forwarded-for"] != nil
        else {
            return
        }
        hasNoticedProxy = true
        let text =
            "a proxy on this machine sends X-Forwarded-For, and trustedProxies does not name it: limits of addresses are off, and "
            + "everything for this machine alone is open to all its clients"
        logger.warning("\(text)")
    }

    package func opened(_ socket: SocketID, request: UpgradeRequest) {
        clock.advance(to: now())
        guard places.reserve() else {
            logic.metrics.met(.connections)
            return turnAway(socket)
        }
        guard !logic.isDraining, reservePlace(of: request.peer, socket) else { return turnAway(socket) }
        logic.trace?.begin(request.request.name, on: socket)
        logic.opened(
            socket, headerToken: bearerToken(request.authorization),
            address: logic.failedTokens.block(of: request.peer))
    }

    private func turnAway(_ socket: SocketID) {
        turnedAway.insert(socket)
        server.close(socket, code: CloseCode.tryAgainLater.rawValue, reason: logic.reconnectAdvice())
    }

    /// Reserves a place for a WebSocket of this address; false if there is none.
    private func reservePlace(of peer: PeerAddress, _ socket: SocketID) -> Bool {
        var hasRoom = !spare.contains(socket)
        if hasRoom, !countedAddresses.isCounted(socket) {
            // A proxy's connection, or one whose address is not counted.
            switch addresses.reserve(peer) {
            case .uncounted: break
            case .counted(let block): countedAddresses.set(block, socket)
            case .spare(let block):
                countedAddresses.set(block, socket)
                hasRoom = false
            case .none: hasRoom = false
            }
        }
        if !hasRoom { recordAddressLimit(of: peer) }
        return hasRoom
    }

    private func recordAddressLimit(of peer: PeerAddress) {
        logic.metrics.met(.connectionsPerAddress)
        // In a flood an operator needs the address, but not a line for each connection.
        guard clock.now >= nextAddressLog else { return }
        nextAddressLog = clock.now + 60_000
        logger.warning("an address has too many connections", metadata: ["address": .string(peer.host)])
    }

    func received(_ message: UnsafeRawBufferPointer, on socket: SocketID) {
        clock.advance(to: now())
        logic.received(message, on: socket)
    }

    package func heard(_ socket: SocketID) {
        clock.advance(to: now())
        logic.heard(socket)
    }

    func idled(_ socket: SocketID, hundreds: Int) {
        clock.advance(to: now())
        logic.idled(socket, hundreds: hundreds)
    }

    func writable(_ socket: SocketID) {
        clock.advance(to: now())
        logic.writable(socket)
    }

    func closed(_ socket: SocketID, _ closure: Closure) {
        clock.advance(to: now())
        places.release()
        guard turnedAway.remove(socket) == nil else { return }
        switch closure {
        case .byPeer(let code, _): logic.closed(socket, code: code, hadCloseFrame: true)
        case .byServer(let code): logic.closed(socket, code: code, hadCloseFrame: true)
        case .lost: logic.closed(socket, code: nil, hadCloseFrame: false)
        }
    }

    package func request(_ exchange: HTTPExchangeID, _ request: HTTPRequest) {
        clock.advance(to: now())
        noticeProxy(in: request)
        api.handle(exchange, request)
    }

    func reasonWhenFull() -> String { logic.reconnectAdvice() }

    func acceptingFailed(_ description: String) {
        logger.warning("accepting failed", metadata: ["reason": .string(description)])
    }

    // MARK: Calls of the logic

    package func write(_ bytes: UnsafeRawBufferPointer, to socket: SocketID) -> WriteResult {
        server.write(bytes, to: socket)
    }
    func ping(_ socket: SocketID) { server.ping(socket) }
    package func silence(of socket: SocketID) -> Milliseconds? { server.silence(of: socket) }
    func hasHungUp(_ socket: SocketID) -> Bool { server.hasHungUp(socket) }
    func pauseReading(_ socket: SocketID) { server.pauseReading(socket) }
    func resumeReading(_ socket: SocketID) { server.resumeReading(socket) }
    func reserveInbox(_ bytes: Int, of address: AddressBlock) -> Bool { server.hold(bytes, for: address) }
    func releaseInbox(_ bytes: Int, of address: AddressBlock) { server.letGo(bytes, of: address) }
    func allowLongMessages(_ socket: SocketID) { server.allowLongMessages(socket) }

    package func close(_ socket: SocketID, code: CloseCode, reason: String) {
        server.close(socket, code: code.rawValue, reason: reason)
    }
}

/// The process' limit of connections, counted over all its shards, since the kernel distributes them unevenly.
package final class ConnectionPlaces: Sendable {
    private let most: Int
    private let taken = Atomic(0)

    package init(_ most: Int) { self.most = most }

    /// Reserves a place in any case, to be released; false if there was none left.
    package func reserve() -> Bool { taken.wrappingAdd(1, ordering: .relaxed).newValue <= most }
    func release() { taken.wrappingSubtract(1, ordering: .relaxed) }
}
