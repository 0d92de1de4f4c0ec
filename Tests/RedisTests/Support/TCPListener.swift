import Glibc

/// A listening socket on 127.0.0.1 that is not a Redis: sends a given text, or nothing.
final class TCPListener {
    private let socket: CInt
    let port: UInt16

    init() throws {
        socket = Glibc.socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let socket = socket
        let result = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, size) == 0 ? listen(socket, 16) + getsockname(socket, $0, &size) : -1
            }
        }
        port = UInt16(bigEndian: address.sin_port)
        guard result == 0 else {
            close(socket)
            throw Failure(error: errno)
        }
    }

    deinit { close(socket) }

    /// Waits for a connection, sends `text` on it, and closes it.
    func acceptOnce(saying text: String) {
        let peer = accept(socket, nil, nil)
        _ = text.utf8.withContiguousStorageIfAvailable { send(peer, $0.baseAddress!, $0.count, CInt(MSG_NOSIGNAL)) }
        shutdown(peer, CInt(SHUT_WR))
        var byte: UInt8 = 0
        while recv(peer, &byte, 1, 0) > 0 {}
        close(peer)
    }

    struct Failure: Error { let error: CInt }
}
