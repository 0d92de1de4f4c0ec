import CLibWebSockets
import EventLoops
import Glibc

/// The input of a connection before it is a WebSocket: heads and bodies of requests.
extension WebSocketServer {
    /// The most that one read takes; over TLS, a whole record.
    static let readSize = 16 * 1024
    /// The most steps (a read, or a request) of one connection before other work gets its turn.
    private static let stepsATurn = 32

    /// Does all that can be done for the connection now, and waits for the rest.
    func advance(_ socket: SocketID) {
        guard let first = table.index(socket), let http = table[first].extras?.http, !http.isAdvancing else { return }
        http.isAdvancing = true
        defer { http.isAdvancing = false }
        for _ in 0..<Self.stepsATurn {
            // The connection may have ended, or become a WebSocket.
            guard let index = table.index(socket), table[index].extras?.http === http, !table[index].isDoomed else {
                return
            }
            let goesOn =
                switch http.stage {
                case .greeting: greet(index, http)
                case .shaking: shakeHands(index, http)
                case .head: readHead(index, http)
                case .body: readBody(index, http)
                case .draining: drain(index, http)
                case .judging, .answering, .writing: false
                }
            guard goesOn else { return }
        }
        http.pauseInput()
        unfinished.append(socket)
        // If the turn is already ending, this causes one more pass.
        loop.execute {}
    }

    /// Continues unfinished connections, at the end of the turn.
    func advanceUnfinished() {
        advancePostponed()
        guard !unfinished.isEmpty else { return }
        let sockets = unfinished
        unfinished = []
        for socket in sockets { advance(socket) }
    }

    func awaitInput(_ index: Int, _ http: HTTPConnection) {
        let socket = table.id(index)
        http.awaitInput(loop, isFirst: table[index].isSecure) { [unowned self, unowned http] in
            takesTurn() ? advance(socket) : postpone(socket, http)
        }
    }

    /// Ends the connection now or, if libwebsockets owns it, at the end of the turn.
    func end(_ index: Int, _ http: HTTPConnection) {
        http.cancel()
        guard table[index].wsi == nil else { return doom(index) }
        Glibc.close(http.descriptor)
        forget(index)
    }

    // MARK: - Bytes

    enum Input {
        case bytes(Int)
        /// No bytes have arrived.
        case nothing
        /// The peer has disconnected, or the connection broke.
        case ended
    }

    /// Reads into `scratch`.
    func read(_ index: Int, _ http: HTTPConnection, atMost room: Int = readSize, peeking: Bool = false) -> Input {
        if let wsi = table[index].wsi {
            let count =
                peeking
                ? clws_tls_peek(wsi, scratch.baseAddress, Int32(room))
                : clws_tls_read(wsi, scratch.baseAddress, Int32(room))
            if count > 0 { return .bytes(Int(count)) }
            return Int(count) == clws_tls_ended ? .ended : .nothing
        }
        let count = recv(http.descriptor, scratch.baseAddress, room, Int32(MSG_DONTWAIT))
        if count > 0 { return .bytes(count) }
        return count < 0 && (errno == EAGAIN || errno == EINTR) ? .nothing : .ended
    }

    /// Reserves room in the inbox' budget for this many further bytes of an address (`.none`: an address without a
    /// share), also for bytes that the delegate keeps. Release them with `letGo`.
    public func hold(_ count: Int, for block: AddressBlock) -> Bool {
        guard configuration.inbox.reserve(count, for: block) else {
            counters.inboxRefusals += 1
            return false
        }
        inboxHeld += count
        return true
    }

    public func letGo(_ count: Int, of block: AddressBlock) {
        guard count > 0 else { return }
        configuration.inbox.release(count, of: block)
        inboxHeld -= count
    }

    /// Changes the reservation of `http` to `count` bytes, if the budget has room.
    func hold(_ count: Int, for http: HTTPConnection) -> Bool {
        let block = configuration.inbox.block(of: http.client)
        // A proxy has named another client since.
        if block != http.heldFor { letGoAll(of: http) }
        http.heldFor = block
        if count <= http.held {
            letGo(http.held - count, of: block)
        } else if !hold(count - http.held, for: block) {
            return false
        }
        http.held = count
        return true
    }

    func letGoAll(of http: HTTPConnection) {
        letGo(http.held, of: http.heldFor)
        http.held = 0
    }

    // MARK: - Heads

    var newReader: RequestHeadReader {
        RequestHeadReader(maxBytes: configuration.maxHeaderBytes, maxFields: configuration.maxHeaders)
    }

    /// Returns whether there is more to do now.
    private func readHead(_ index: Int, _ http: HTTPConnection) -> Bool {
        if http.hasUnreadInput {
            http.hasUnreadInput = false
            let input = http.input
            http.input = []
            return input.withUnsafeBytes { receiveHead(index, http, $0, false) }
        }
        return readMore(index, http, receiveHead)
    }

    private func receiveHead(
        _ index: Int, _ http: HTTPConnection, _ bytes: UnsafeRawBufferPointer, _ isPeek: Bool
    ) -> Bool {
        let before = http.input.count
        do throws(RequestFault) {
            let reading: RequestHeadReader.Reading
            if before == 0 {
                // The usual case: the head arrived whole, and nothing of it must be kept.
                reading = try http.reader.read(bytes)
            } else {
                http.input += bytes
                reading = try readOn(http)
            }
            switch reading {
            case .incomplete:
                if before == 0 { http.input = Array(bytes) }
                if isPeek { _ = read(index, http, atMost: bytes.count) }
                guard hold(http.input.count, for: http) else { return refuseForRoom(index, http) }
                return true
            case .head(let head, let length):
                let used = length - before
                // libwebsockets reads the last line feed of a WebSocket's head.
                let isUpgrade = head.asksForWebSocket
                if isPeek, used > 1 || !isUpgrade { _ = read(index, http, atMost: isUpgrade ? used - 1 : used) }
                http.input = isPeek ? [] : Array(bytes[used...])
                http.hasUnreadInput = !http.input.isEmpty
                http.reader = newReader
                return begin(index, http, head, isUpgrade: isUpgrade)
            }
        } catch {
            return refuse(index, http, configuration.errorResponse(error.status, error.reason))
        }
    }

    private func readOn(_ http: HTTPConnection) throws(RequestFault) -> RequestHeadReader.Reading {
        // (`withUnsafeBytes` would lose the type of the error.)
        var outcome: Result<RequestHeadReader.Reading, RequestFault>?
        http.input.withUnsafeBytes { bytes in
            outcome = Result { () throws(RequestFault) in try http.reader.read(bytes) }
        }
        return try outcome!.get()
    }

    // MARK: - Bodies

    /// Begins to receive the body of `request`.
    func expectBody(_ index: Int, _ http: HTTPConnection, _ request: HTTPRequest, _ length: Int) -> Bool {
        guard request.sink != nil || length <= configuration.maxBodyBytes else {
            return refuse(
                index, http,
                configuration.errorResponse(413, "a body has at most \(configuration.maxBodyBytes) bytes"))
        }
        http.request = request
        http.missing = length
        http.chunks =
            request.head.isChunked
            ? ChunkedBody(most: min(request.mostBodyBytes, configuration.maxBodyBytes)) : nil
        http.stage = .body
        if let sink = request.sink {
            http.sink = sink
            http.isSinkBehind = false
            watchTransfer(index, http)
        }
        // HTTP/1.0 clients do not understand an interim answer (RFC 9110, 10.1.1).
        if request.head.isHTTP11, request.headers["expect"]?.lowercased() == "100-continue", http.input.isEmpty {
            http.output = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)
            http.written = 0
            flush(index, http)
        }
        return true
    }

    /// Returns whether there is more to do now.
    private func readBody(_ index: Int, _ http: HTTPConnection) -> Bool {
        guard !http.isSinkBehind else { return false }
        guard http.chunks == nil else { return readChunks(index, http) }
        if http.hasUnreadInput {
            let input = http.input
            let count = min(input.count, http.missing)
            http.input = Array(input[count...])
            http.hasUnreadInput = !http.input.isEmpty
            return input.withUnsafeBytes { bytes in
                bodyGrew(index, http, by: UnsafeRawBufferPointer(rebasing: bytes[..<count]), isHeld: true)
            }
        }
        switch read(index, http, atMost: min(http.missing, Self.readSize)) {
        case .nothing:
            wake(index, http, at: min(http.missing, Self.wakeBytes))
            awaitInput(index, http)
            return false
        case .ended:
            end(index, http)
            return false
        case .bytes(let count):
            return bodyGrew(index, http, by: UnsafeRawBufferPointer(rebasing: scratch[..<count]), isHeld: false)
        }
    }

    /// - Parameter isHeld: the inbox' budget counts the piece already.
    private func bodyGrew(
        _ index: Int, _ http: HTTPConnection, by piece: UnsafeRawBufferPointer, isHeld: Bool
    ) -> Bool {
        http.missing -= piece.count
        if let sink = http.sink {
            pour(piece, into: sink, http)
            _ = hold(http.input.count, for: http)
            guard http.stage == .body else { return http.stage == .draining }
        } else if http.request?.keepsBody == true {
            guard isHeld || hold(http.held + piece.count, for: http) else { return refuseForRoom(index, http) }
            http.request?.body += piece
        } else {
            _ = hold(http.input.count, for: http)
        }
        guard http.missing == 0, let request = http.request else { return !http.isSinkBehind }
        http.request = nil
        http.sink = nil
        http.isSinkBehind = false
        http.transfer = nil
        wake(index, http, at: 1)
        _ = hold(http.input.count, for: http)
        return dispatch(index, http, request)
    }

    func refuseForRoom(_ index: Int, _ http: HTTPConnection) -> Bool {
        refuse(index, http, configuration.errorResponse(503, "too much is being received: try again later"))
    }

    // MARK: - The end

    /// Discards input after the last answer: with unread input, closing would make the kernel discard the answer.
    private func drain(_ index: Int, _ http: HTTPConnection) -> Bool {
        guard http.written == http.output.count else { return false }
        // Reads past TLS, whose session is over.
        let count = recv(http.descriptor, scratch.baseAddress, scratch.count, Int32(MSG_DONTWAIT))
        if count > 0 { return true }
        if count < 0 && (errno == EAGAIN || errno == EINTR) {
            awaitInput(index, http)
        } else {
            end(index, http)
        }
        return false
    }
}
