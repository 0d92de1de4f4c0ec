import Glibc

/// An IP address and a port to bind to, in the kernel's format.
struct SocketAddress: Sendable {
    private var storage = sockaddr_storage()
    private let length: socklen_t

    /// - Throws: `ListeningError.unknownHost`.
    init(host: String, port: Int) throws {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_PASSIVE
        var found: UnsafeMutablePointer<addrinfo>?
        let result = getaddrinfo(host, String(port), &hints, &found)
        guard result == 0, let found else {
            throw ListeningError.unknownHost(host: host, reason: String(cString: gai_strerror(result)))
        }
        defer { freeaddrinfo(found) }
        length = found.pointee.ai_addrlen
        withUnsafeMutableBytes(of: &storage) { bytes in
            bytes.copyMemory(from: UnsafeRawBufferPointer(start: found.pointee.ai_addr, count: Int(length)))
        }
    }

    private var isIPv6: Bool { Int32(storage.ss_family) == AF_INET6 }

    var isLoopback: Bool { PeerAddress(storage).isLoopback }

    /// In both families the port is in the two bytes after the family.
    var port: Int {
        withUnsafeBytes(of: storage) { Int(UInt16(bigEndian: $0.loadUnaligned(fromByteOffset: 2, as: UInt16.self))) }
    }

    /// This address with the port that `descriptor` is bound to.
    func withPort(of descriptor: Int32) -> SocketAddress {
        var bound = self
        var length = length
        withUnsafeMutablePointer(to: &bound.storage) { storage in
            storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = getsockname(descriptor, $0, &length) }
        }
        return bound
    }

    /// A new TCP socket bound to this address; the caller closes it.
    ///
    /// - Parameter failure: makes the error from the step that failed and `errno`.
    func bound(reusePort: Bool, _ failure: (String, Int32) -> ListeningError) throws -> Int32 {
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = Glibc.socket(Int32(storage.ss_family), kind, 0)
        guard descriptor >= 0 else { throw failure("socket", errno) }
        var on: Int32 = 1
        var off: Int32 = 0
        let size = socklen_t(MemoryLayout<Int32>.size)
        // Connections of an earlier server in TIME_WAIT must not prevent a start.
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, size)
        if reusePort { setsockopt(descriptor, SOL_SOCKET, SO_REUSEPORT, &on, size) }
        // `::` accepts IPv4 too.
        if isIPv6 { setsockopt(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &off, size) }
        let result = withUnsafePointer(to: storage) { storage in
            storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
        }
        guard result == 0 else {
            let code = errno
            Glibc.close(descriptor)
            throw failure("bind", code)
        }
        return descriptor
    }

    private struct Marked: Error {}

    /// Claims the address among processes. An exclusive server listens on an abstract Unix socket named after address
    /// and port; other servers find that socket by connecting to it. A sharing server leaves no such socket, but checks
    /// for one.
    ///
    /// - Throws: if another process has marked the address.
    func mark(exclusive: Bool) throws -> Int32? {
        let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Marked() }
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        let text = Array("tcp-listener:\(PeerAddress(storage))".utf8)
        withUnsafeMutableBytes(of: &name.sun_path) { path in
            // A leading zero makes the name abstract: without a file, and removed with the process.
            path.baseAddress!.advanced(by: 1).copyMemory(from: text, byteCount: text.count)
        }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + 1 + text.count)
        let result = withUnsafePointer(to: name) { name in
            name.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                exclusive ? bind(descriptor, address, length) : connect(descriptor, address, length)
            }
        }
        if exclusive {
            guard result == 0, listen(descriptor, 1) == 0 else {
                Glibc.close(descriptor)
                throw Marked()
            }
            return descriptor
        }
        let refused = result != 0 && errno == ECONNREFUSED
        Glibc.close(descriptor)
        guard refused else { throw Marked() }
        return nil
    }
}
