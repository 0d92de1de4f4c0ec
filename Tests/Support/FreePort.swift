import Glibc

package enum FreePort {
    /// A port that nobody listened on a moment ago.
    package static func find() throws -> UInt16 {
        let socket = Glibc.socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        defer { close(socket) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, size) == 0 ? getsockname(socket, $0, &size) : -1
            }
        }
        guard result == 0 else { throw NoFreePort(error: errno) }
        return UInt16(bigEndian: address.sin_port)
    }

    package struct NoFreePort: Error { let error: CInt }
}
