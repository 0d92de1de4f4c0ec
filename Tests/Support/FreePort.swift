import Glibc

package enum FreePort {
    /// Below the ports for outgoing connections (`ip_local_port_range`): none of them can take a port after it is found
    /// and before a server listens on it.
    private static let range: Range<UInt16> = 12_000..<32_768

    /// A port on which no process listens.
    package static func find() throws -> UInt16 {
        for _ in 0..<100 {
            let port = UInt16.random(in: range)
            if isFree(port) { return port }
        }
        throw NoFreePort()
    }

    private static func isFree(_ port: UInt16) -> Bool {
        let socket = Glibc.socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        defer { close(socket) }
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
