import EventLoops
import Glibc

/// Ports for servers of the tests. Each test process has blocks of its own, claimed by an abstract Unix socket, which ends
/// with the process: two processes never find the same port. Tests/Conformance/support/ports.py claims in the same way.
package enum FreePort {
    /// Below the ports for outgoing connections (`ip_local_port_range`): none of them can take a port after it is found
    /// and before a server listens on it.
    private static let range: Range<UInt16> = 12_000..<32_736
    private static let perBlock: UInt16 = 64
    private static let own = Locked(Own())

    private struct Own {
        var ports: [UInt16] = []
        var position = 0
    }

    /// A port on which no process listens, and which this process did not find before, unless no block is left.
    package static func find() throws -> UInt16 {
        try own.withLock { own in
            for _ in range {
                if own.position == own.ports.count {
                    if let first = claim() { own.ports += first..<first + perBlock } else { own.position = 0 }
                }
                guard own.position < own.ports.count else { break }
                own.position += 1
                if isFree(own.ports[own.position - 1]) { return own.ports[own.position - 1] }
            }
            throw NoFreePort()
        }
    }

    /// The first port of a block that no process had.
    private static func claim() -> UInt16? {
        let firsts = Array(stride(from: range.lowerBound, to: range.upperBound, by: .init(perBlock)))
        return firsts.shuffled().first { first in
            let claim = Glibc.socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            let name = Array("\0presence-ports-\(first)".utf8)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
            let length = MemoryLayout<sa_family_t>.size + name.count
            let isOwn = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(claim, $0, socklen_t(length)) == 0 }
            }
            if !isOwn { close(claim) }
            return isOwn
        }
    }

    /// Its socket does not keep the port from its user: a process that another thread starts meanwhile does not inherit it,
    /// and until that process is another program, it shares the port with those that allow it, as servers do.
    private static func isFree(_ port: UInt16) -> Bool {
        let socket = Glibc.socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(socket) }
        var isShared: CInt = 1
        setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &isShared, socklen_t(MemoryLayout<CInt>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        address.sin_port = port.bigEndian
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }

    package struct NoFreePort: Error {}
}
