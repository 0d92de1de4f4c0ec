import CLibWebSockets
import Glibc

/// Bodies in chunks. They are collected in memory: a sink needs the body's length first.
extension WebSocketServer {
    /// Returns whether there is more to do now.
    func readChunks(_ index: Int, _ http: HTTPConnection) -> Bool {
        if http.hasUnreadInput {
            let input = http.input
            return input.withUnsafeBytes { receiveChunks(index, http, $0, false) }
        }
        return readMore(index, http, receiveChunks)
    }

    /// Reads what has arrived, and returns whether there is more to do now.
    func readMore(
        _ index: Int, _ http: HTTPConnection,
        _ receive: (Int, HTTPConnection, UnsafeRawBufferPointer, _ isPeek: Bool) -> Bool
    ) -> Bool {
        // Over TLS the bytes after the head or body are left for libwebsockets, which may get the connection.
        let isPeek = table[index].isSecure
        switch read(index, http, peeking: isPeek) {
        case .nothing:
            awaitInput(index, http)
            return false
        case .ended:
            end(index, http)
            return false
        case .bytes(let count):
            if !http.hasSpoken {
                http.hasSpoken = true
                if table[index].isSecure { counters.tlsHandshakes += 1 }
            }
            return receive(index, http, UnsafeRawBufferPointer(rebasing: scratch[..<count]), isPeek)
        }
    }

    private func receiveChunks(
        _ index: Int, _ http: HTTPConnection, _ bytes: UnsafeRawBufferPointer, _ isPeek: Bool
    ) -> Bool {
        guard var chunks = http.chunks else { return false }
        let keeps = http.request?.keepsBody == true
        let used: Int
        do throws(RequestFault) {
            used = try chunks.read(bytes) { piece in if keeps { http.request?.body += piece } }
        } catch {
            http.chunks = nil
            return refuse(index, http, configuration.errorResponse(error.status, error.reason))
        }
        http.chunks = chunks
        http.input = isPeek ? [] : Array(bytes[used...])
        http.hasUnreadInput = !http.input.isEmpty
        if isPeek { _ = read(index, http, atMost: used) }
        guard hold(http.input.count + (http.request?.body.count ?? 0), for: http) else {
            http.chunks = nil
            return refuseForRoom(index, http)
        }
        guard chunks.hasEnded, let request = http.request else { return true }
        http.chunks = nil
        http.request = nil
        _ = hold(http.input.count, for: http)
        return dispatch(index, http, request)
    }
}
