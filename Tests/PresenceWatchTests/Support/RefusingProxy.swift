import EventLoops
import Foundation

/// A proxy between a client and its server, on a free port, that rejects one upgrade like a portal or a firewall.
final class RefusingProxy: Sendable {
    let port: UInt16
    private let listener: Int32
    private let target: UInt16
    private let state = Locked((mayRefuse: false, refusals: 0, sockets: [Int32]()))

    private static let answer =
        "HTTP/1.1 403 Forbidden\r\nContent-Type: text/html\r\nContent-Length: 19\r\nConnection: close\r\n\r\n<h1>Sign in</h1>   "

    init(to target: UInt16) throws {
        self.target = target
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = Self.address(0)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let found = withUnsafeMutablePointer(to: &address) { [listener] pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, size) == 0 && listen(listener, 16) == 0
                    && getsockname(listener, address, &size) == 0
            }
        }
        guard found else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        port = UInt16(bigEndian: address.sin_port)
        Thread.detachNewThread { [self] in
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0 else { return }
                Thread.detachNewThread { self.serve(client) }
            }
        }
    }

    /// The number of rejected upgrades.
    var refusals: Int { state.withLock { $0.refusals } }

    /// Cuts existing connections, and rejects the next upgrade.
    func refuseOnce() {
        let sockets = state.withLock { state in
            defer { state.sockets = [] }
            state.mayRefuse = true
            return state.sockets
        }
        for socket in sockets { shutdown(socket, Int32(SHUT_RDWR)) }
    }

    private func serve(_ client: Int32) {
        let isRefused = state.withLock { state in
            defer { state.mayRefuse = false }
            if state.mayRefuse { state.refusals += 1 }
            return state.mayRefuse
        }
        if isRefused {
            var request = [UInt8](repeating: 0, count: 4_096)
            _ = read(client, &request, request.count)
            _ = send(client, Self.answer, Self.answer.utf8.count, Int32(MSG_NOSIGNAL))
            close(client)
            return
        }
        let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = Self.address(target)
        let isThere = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isThere else {
            close(client)
            return
        }
        state.withLock { $0.sockets += [client, server] }
        // Two threads, which end with the connection. The sockets stay open until the test process ends.
        Thread.detachNewThread { Self.pass(client, server) }
        Self.pass(server, client)
    }

    private static func pass(_ from: Int32, _ to: Int32) {
        var piece = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(from, &piece, piece.count)
            guard count > 0, send(to, piece, count, Int32(MSG_NOSIGNAL)) == count else { break }
        }
        shutdown(from, Int32(SHUT_RDWR))
        shutdown(to, Int32(SHUT_RDWR))
    }

    private static func address(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }
}
