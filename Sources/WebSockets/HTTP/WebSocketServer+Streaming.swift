import CLibWebSockets
import EventLoops

/// Bodies in pieces: into a sink, and out of a source. In both directions at most a piece is in memory here.
///
/// Both must move by `transferBytes` in each `transferTimeout`. The server checks each body once in that time, not for
/// each byte. A body that arrives byte by byte is cheap, since the kernel wakes the loop only for every `wakeBytes`, or
/// for the rest. After a delay by the server itself, the time begins anew.
extension WebSocketServer {
    /// The number of body bytes to wait for at a time. The progress of a body is measured with this granularity.
    static let wakeBytes = 4096

    // MARK: - In

    /// Continues reading a body whose sink had stopped it. Does nothing if its client has disconnected.
    public func resumeBody(_ exchange: HTTPExchangeID) {
        guard let index = table.index(exchange.socket), let http = table[index].extras?.http, http.isSinkBehind,
            http.stage == .body, http.number == exchange.number, !table[index].isDoomed
        else { return }
        http.isSinkBehind = false
        http.transfer?.beginWindow(now: loop.now)
        advance(exchange.socket)
    }

    /// Passes a piece of the body to the sink.
    func pour(_ piece: UnsafeRawBufferPointer, into sink: any BodySink, _ http: HTTPConnection) {
        http.transfer?.move(piece.count)
        let isBehind = !sink.receive(piece)
        // The sink may have rejected the request.
        guard http.stage == .body, isBehind else { return }
        http.isSinkBehind = true
        http.pauseInput()
    }

    /// Makes the kernel wake the loop when this many bytes have arrived.
    ///
    /// Not over TLS: OpenSSL keeps the rest of a record in a buffer of its own, so fewer bytes may still arrive than
    /// the body lacks.
    func wake(_ index: Int, _ http: HTTPConnection, at bytes: Int) {
        guard table[index].wsi == nil, http.wakesAt != Int32(bytes) else { return }
        http.wakesAt = Int32(bytes)
        clws_wake_at(http.descriptor, Int32(bytes))
    }

    // MARK: - Out

    /// Called when the output is written. Returns whether the answer continues from its source.
    func pump(_ index: Int, _ http: HTTPConnection, lingers: Bool) -> Bool {
        guard let outflow = http.outflow else { return false }
        guard outflow.left > 0 else {
            http.outflow = nil
            http.transfer = nil
            outflow.source.close()
            return false
        }
        guard !outflow.isReading else { return true }
        http.outflow?.isReading = true
        let (socket, number) = (table.id(index), http.number)
        outflow.source.read { [unowned self] piece in
            guard let index = table.index(socket), let http = table[index].extras?.http, http.number == number,
                http.outflow != nil, !table[index].isDoomed
            else { return }
            http.outflow?.isReading = false
            http.transfer?.beginWindow(now: loop.now)
            guard let piece, !piece.isEmpty, piece.count <= http.outflow?.left ?? 0 else {
                // The announced bytes cannot be supplied.
                return end(index, http)
            }
            http.outflow?.left -= piece.count
            http.output = http.output.isEmpty ? piece : http.output + piece
            flush(index, http, lingers: lingers)
        }
        return true
    }

    // MARK: - Progress

    func watchTransfer(_ index: Int, _ http: HTTPConnection) {
        let transfer = HTTPConnection.Transfer(window: configuration.transferTimeout, now: loop.now)
        http.transfer = transfer
        timeTransfer(table.id(index), http, due: transfer.due)
        armDeadlines()
    }

    /// One entry for each connection, which fires no later than `due`.
    private func timeTransfer(_ socket: SocketID, _ http: HTTPConnection, due: Int64) {
        guard !http.isTransferTimed else { return }
        http.isTransferTimed = true
        transfers.add(socket, due: due)
    }

    /// Ends the transfer of an exchange, if it is in progress, to free its place.
    public func abortTransfer(_ exchange: HTTPExchangeID) {
        guard let index = table.index(exchange.socket), let http = table[index].extras?.http,
            http.number == exchange.number, http.transfer != nil, !table[index].isDoomed
        else { return }
        counters.slowTransfers += 1
        doom(index)
    }

    func checkTransfer(_ socket: SocketID) {
        guard let index = table.index(socket), let http = table[index].extras?.http else { return }
        http.isTransferTimed = false
        guard var transfer = http.transfer else { return }
        if loop.now >= transfer.due {
            // Both are delays of the server itself.
            let waitsForUs = http.isSinkBehind || http.outflow?.isReading == true
            guard waitsForUs || transfer.progress >= configuration.transferBytes else {
                counters.slowTransfers += 1
                return doom(index)
            }
            transfer.beginWindow(now: loop.now)
            http.transfer = transfer
        }
        timeTransfer(socket, http, due: transfer.due)
    }
}
