import Foundation

extension RedisServerProcess {
    /// The answer of a Redis to a probe.
    package enum Answer: Equatable {
        case ready
        /// Redis runs, and is still reading its log.
        case loading
        case silent
    }

    /// Probes Redis on a separate connection, for at most a second. Only the supervising thread may call this, because
    /// it blocks.
    package static func probe(socket path: String) -> Answer {
        let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return .silent }
        defer { close(descriptor) }
        var patience = timeval(tv_sec: 1, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(descriptor, SOL_SOCKET, option, &patience, socklen_t(MemoryLayout<timeval>.size))
        }
        guard connectUnix(descriptor, to: path), send(descriptor, "PING\r\n", 6, Int32(MSG_NOSIGNAL)) == 6
        else { return .silent }
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = recv(descriptor, &bytes, bytes.count, 0)
        let reply = String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self)
        if reply.hasPrefix("+PONG") { return .ready }
        return reply.hasPrefix("-LOADING") ? .loading : .silent
    }

    private static func connectUnix(_ descriptor: Int32, to path: String) -> Bool {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return false }
        // The address belongs to this function, and the kernel copies it in the call.
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
    }
}
