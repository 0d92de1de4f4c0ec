import CLibWebSockets
import EventLoops

/// Bodies in pieces: into a sink, and out of a source. Neither holds more than a piece here.
///
/// Both have to move on by `transferBytes` in each `transferTimeout`. One look at each in that time, not one for each
/// byte: a body that comes byte by byte costs nothing, since the kernel wakes us for `wakeBytes` of it, or for the rest.
/// When the server was behind itself, the time begins anew.
extension WebSocketServer {
    /// So many bytes of a body are waited for at a time. The progress of a body is told this exactly.
    static let wakeBytes = 4096

    // MARK: - In

    /// Goes on reading the body whose sink said that it takes nothing for now; does nothing if its client is gone.
    public func resumeBody(_ exchange: HTTPExchangeID) {
        guard let index = table.index(exchange.socket), let http = table[index].extras?.http, http.isSinkBehind,
            http.stage == .body, http.number == exchange.number, !table[index].isDoomed
        else { return }
        http.isSinkBehind = false
        http.transfer?.beginWindow(now: loop.now)
        advance(exchange.socket)
    }

    /// A piece of the body has come.
    func pour(_ piece: UnsafeRawBufferPointer, into sink: any BodySink, _ http: HTTPConnection) {
        http.transfer?.move(piece.count)
        let isBehind = !sink.take(piece)
        // The sink may have had it refused.
        guard http.stage == .body, isBehind else { return }
        http.isSinkBehind = true
        http.pauseInput()
    }

    /// The kernel wakes us when so many bytes have come.
    ///
    /// Not over TLS: what OpenSSL has read of a record stands in its own buffer, and the rest may be shorter than what is
    /// missing of the body.
    func wake(_ index: Int, _ http: HTTPConnection, at bytes: Int) {
        guard table[index].wsi == nil, http.wakesAt != Int32(bytes) else { return }
        http.wakesAt = Int32(bytes)
        clws_wake_at(http.descriptor, Int32(bytes))
    }

    // MARK: - Out

    /// The output is written. Whether the answer goes on from its source.
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
                // What was announced cannot be given.
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

    /// One entry a connection, which comes up no later than it is due.
    private func timeTransfer(_ socket: SocketID, _ http: HTTPConnection, due: Int64) {
        guard !http.isTransferTimed else { return }
        http.isTransferTimed = true
        transfers.add(socket, due: due)
    }

    /// Ends the transfer of an exchange, if it is under way: its place is wanted.
    public func giveUp(_ exchange: HTTPExchangeID) {
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
            // Either is our own doing.
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
