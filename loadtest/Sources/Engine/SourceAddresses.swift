import Glibc

/// The source addresses of connections: in 127.0.0.0/8 each client has its own, like clients in a real network.
///
/// So a server counts connections by address as it does for real clients, if it counts this machine's at all
/// (limits.limitLoopback). A client that dials again has the same address again.
struct SourceAddresses {
    /// `nil` leaves the choice to the system.
    private let first: UInt32?
    private let count: UInt32

    /// Addresses for this many clients. For a server outside 127.0.0.0/8 the system chooses the address.
    init(connections: Int, first: String?, endpoint: Endpoint) throws(Failure) {
        count = UInt32(max(1, connections))
        guard let first else {
            self.first = endpoint.isLoopback ? 0x7F00_0001 : nil
            return
        }
        var address = in_addr()
        guard endpoint.isLoopback else { throw Failure("--source is for servers on 127.0.0.0/8") }
        guard inet_pton(AF_INET, first, &address) == 1, UInt32(bigEndian: address.s_addr) >> 24 == 127 else {
            throw Failure("--source must be an address like 127.0.0.2, not \(first)")
        }
        self.first = UInt32(bigEndian: address.s_addr)
    }

    /// The address of the client with this tag, in the machine's byte order; `nil` leaves it to the system.
    func address(of tag: Int) -> UInt32? {
        first.map { first in
            // From 127.0.0.1 up to the last before the network's broadcast address, and then from the beginning.
            let place = max(first & 0x00FF_FFFF, 1) - 1
            return 0x7F00_0001 + (place + UInt32(truncatingIfNeeded: tag) % count) % 0x00FF_FFFE
        }
    }

    /// Binds a socket before it connects. The port is chosen at the connect, when the whole pair is known.
    func bind(_ descriptor: Int32, for tag: Int) -> Bool {
        guard let number = address(of: tag) else { return true }
        var yes: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_IP), IP_BIND_ADDRESS_NO_PORT, &yes, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = number.bigEndian
        return withUnsafeBytes(of: &address) { bytes in
            Glibc.bind(
                descriptor, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count)) == 0
        }
    }
}
