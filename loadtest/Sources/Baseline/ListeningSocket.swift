import Glibc

/// A listening socket, non-blocking and with the largest backlog that the kernel allows.
struct ListeningSocket {
    let descriptor: Int32
    let port: UInt16

    init(_ endpoint: Endpoint) throws(Failure) {
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let listening = socket(endpoint.family, kind, 0)
        var yes: Int32 = 1
        setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        // Accepted sockets inherit it.
        setsockopt(listening, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
        let isBound = endpoint.address.withUnsafeBytes { bytes in
            bind(listening, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count)) == 0
        }
        guard isBound, listen(listening, 65_535) == 0 else {
            defer { close(listening) }
            throw Failure("cannot listen on \(endpoint.authority): \(Failure.reason())")
        }
        var address = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        descriptor = listening
        port = withUnsafeMutableBytes(of: &address) { bytes in
            _ = getsockname(listening, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), &size)
            // Both families have the port after their first two bytes, in network order.
            return UInt16(bytes[2]) << 8 | UInt16(bytes[3])
        }
    }
}
