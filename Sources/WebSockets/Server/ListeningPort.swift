import CLibWebSockets
import Glibc

/// The reason why a server cannot listen.
public enum ListeningError: Error, CustomStringConvertible {
    case unknownHost(host: String, reason: String)
    /// Another process (or another `ListeningPort` of this process) listens there.
    case inUse(host: String, port: Int)
    case failed(host: String, port: Int, step: String, errno: Int32)

    public var description: String {
        switch self {
        case .unknownHost(let host, let reason): "cannot listen on \(host): \(reason)"
        case .inUse(let host, let port): "cannot listen on \(host) port \(port): another server uses it"
        case .failed(let host, let port, let step, let errno):
            "cannot listen on \(host) port \(port): \(step): \(String(cString: strerror(errno)))"
        }
    }
}

/// A TCP port to listen on, reserved as long as this object exists.
///
/// Each shard gets a listening socket of its own: they share the port by SO_REUSEPORT, and the kernel distributes
/// connections among them. SO_REUSEPORT would also let any other process of the same user listen. So an exclusive port
/// is first bound without SO_REUSEPORT, as a test. It is then marked by an abstract Unix socket that listens, which
/// disappears with this process.
public final class ListeningPort: Sendable {
    public let host: String
    /// The port, also if 0 was requested.
    public let port: Int

    private let address: SocketAddress
    /// The first socket on the port. It never listens, so it gets no connections: it only reserves the port.
    private let holder: Int32
    private let marker: Int32?

    /// - Parameters:
    ///   - host: a name or an address; `0.0.0.0` for all of IPv4, `::` for everything.
    ///   - port: 0 picks a free one.
    ///   - share: whether other processes may listen on it too, if they also request sharing.
    /// - Throws: `ListeningError`.
    public init(host: String, port: Int, share: Bool) throws {
        self.host = host
        var address = try SocketAddress(host: host, port: port)
        func failure(_ step: String, _ code: Int32) -> ListeningError {
            code == EADDRINUSE
                ? .inUse(host: host, port: address.port)
                : .failed(host: host, port: address.port, step: step, errno: code)
        }
        if !share && address.port != 0 {
            // Fails if the port is bound, with SO_REUSEPORT or without.
            let probe = try address.bound(reusePort: false, failure)
            Glibc.close(probe)
        }
        let holder = try address.bound(reusePort: true, failure)
        do {
            address = address.withPort(of: holder)
            marker = try address.mark(exclusive: !share)
        } catch {
            Glibc.close(holder)
            throw ListeningError.inUse(host: host, port: address.port)
        }
        self.holder = holder
        self.address = address
        self.port = address.port
    }

    /// Whether only this machine can connect to that address.
    ///
    /// - Throws: `ListeningError.unknownHost`.
    public static func isLoopback(_ host: String) throws -> Bool {
        try SocketAddress(host: host, port: 0).isLoopback
    }

    deinit {
        Glibc.close(holder)
        if let marker { Glibc.close(marker) }
    }

    /// Another socket that listens on the port; each shard needs one.
    ///
    /// - Throws: `ListeningError`.
    public func socket() throws -> ListeningSocket {
        func failure(_ step: String, _ code: Int32) -> ListeningError {
            .failed(host: host, port: port, step: step, errno: code)
        }
        let descriptor = try address.bound(reusePort: true, failure)
        let socket = ListeningSocket(descriptor: descriptor, port: port)
        // The kernel then accepts 138 KB for a slow reader before the first partial write, instead of 3.9 MB.
        // Connections inherit both options.
        var sendBuffer: Int32 = 64 * 1024
        var on: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &sendBuffer, socklen_t(MemoryLayout<Int32>.size))
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
        // The most connections that wait here while the loop is busy; the kernel's limit is net.core.somaxconn.
        guard listen(descriptor, 4096) == 0 else { throw failure("listen", errno) }
        return socket
    }
}

/// One listening socket, closed when the last reference is released.
public final class ListeningSocket: Sendable {
    let descriptor: Int32
    public let port: Int

    init(descriptor: Int32, port: Int) {
        self.descriptor = descriptor
        self.port = port
    }

    /// The only socket that this process opens on the port.
    ///
    /// - Throws: `ListeningError`.
    public static func single(host: String, port: Int) throws -> ListeningSocket {
        try ListeningPort(host: host, port: port, share: true).socket()
    }

    /// The number of clients that wait to be accepted; 0 if the kernel does not know.
    var waiting: Int { Int(clws_waiting(descriptor)) }

    /// Whether a client waits to be accepted, according to the kernel.
    var hasClient: Bool {
        var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&watched, 1, 0) > 0
    }

    deinit { Glibc.close(descriptor) }
}
