import Glibc

/// The addresses that connections come from: one address has some 28,000 ports for one server, so many connections
/// are spread over 127.0.0.0/8, counted up from a first one.
struct SourceAddresses {
    /// `nil` leaves the choice to the system.
    private let first: UInt32?
    private let count: UInt32
    private var next: UInt32 = 0

    /// Connections from one address at most: well under its ports, so that the system finds a free one at once.
    static let connectionsAnAddress = 10_000

    /// Spreads `connections` over as many addresses as they need.
    /// A server that is not on 127.0.0.0/8 is reached from the system's own choice of address.
    init(connections: Int, first: String?, endpoint: Endpoint) throws(Failure) {
        count = UInt32(max(1, (connections + Self.connectionsAnAddress - 1) / Self.connectionsAnAddress))
        guard let first else {
            self.first = endpoint.isLoopback && count > 1 ? 0x7F00_0001 : nil
            return
        }
        var address = in_addr()
        guard endpoint.isLoopback else { throw Failure("--source is for servers on 127.0.0.0/8") }
        guard inet_pton(AF_INET, first, &address) == 1, UInt32(bigEndian: address.s_addr) >> 24 == 127 else {
            throw Failure("--source must be an address like 127.0.0.2, not \(first)")
        }
        self.first = UInt32(bigEndian: address.s_addr)
    }

    /// Binds a socket that is about to connect; the port is chosen at the connect, when the whole pair is known.
    mutating func bind(_ descriptor: Int32) -> Bool {
        guard let first else { return true }
        var yes: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_IP), IP_BIND_ADDRESS_NO_PORT, &yes, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = (first &+ next % count).bigEndian
        next &+= 1
        return withUnsafeBytes(of: &address) { bytes in
            Glibc.bind(
                descriptor, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count)) == 0
        }
    }
}
