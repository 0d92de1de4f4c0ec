import Glibc

/// The address that a connection came from: an IP address and a port.
public struct PeerAddress: Hashable, Sendable, CustomStringConvertible {
    /// The 16 bytes of an IPv6 address; an IPv4 address is mapped into one (`::ffff:a.b.c.d`), so there is one form for
    /// both.
    let high: UInt64
    let low: UInt64
    public let port: UInt16

    private static let mappedIPv4: UInt64 = 0xffff_0000_0000

    public var isIPv4: Bool { high == 0 && low >> 32 == Self.mappedIPv4 >> 32 }

    /// - Parameter storage: the kernel's address of an accepted connection. A family other than IP gives `::`, port 0.
    init(_ storage: sockaddr_storage) {
        switch Int32(storage.ss_family) {
        case AF_INET:
            let address = withUnsafeBytes(of: storage) { $0.loadUnaligned(as: sockaddr_in.self) }
            high = 0
            low = Self.mappedIPv4 | UInt64(UInt32(bigEndian: address.sin_addr.s_addr))
            port = UInt16(bigEndian: address.sin_port)
        case AF_INET6:
            let address = withUnsafeBytes(of: storage) { $0.loadUnaligned(as: sockaddr_in6.self) }
            let halves = withUnsafeBytes(of: address.sin6_addr) {
                ($0.loadUnaligned(as: UInt64.self), $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            }
            high = UInt64(bigEndian: halves.0)
            low = UInt64(bigEndian: halves.1)
            port = UInt16(bigEndian: address.sin6_port)
        default:
            high = 0
            low = 0
            port = 0
        }
    }

    /// Parses an address without brackets and port; `nil` if the text is not an address.
    public init?(host: String, port: UInt16 = 0) {
        var four = in_addr()
        var six = in6_addr()
        if inet_pton(AF_INET, host, &four) == 1 {
            high = 0
            low = Self.mappedIPv4 | UInt64(UInt32(bigEndian: four.s_addr))
        } else if inet_pton(AF_INET6, host, &six) == 1 {
            let halves = withUnsafeBytes(of: six) {
                ($0.loadUnaligned(as: UInt64.self), $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            }
            high = UInt64(bigEndian: halves.0)
            low = UInt64(bigEndian: halves.1)
        } else {
            return nil
        }
        self.port = port
    }

    /// Whether it belongs to this machine: 127.0.0.0/8 or ::1.
    public var isLoopback: Bool { isIPv4 ? low >> 24 & 0xff == 127 : high == 0 && low == 1 }

    /// The IP address as text, without the port.
    public var host: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        if isIPv4 {
            var address = in_addr(s_addr: UInt32(truncatingIfNeeded: low).bigEndian)
            inet_ntop(AF_INET, &address, &text, socklen_t(text.count))
        } else {
            var address = (high.bigEndian, low.bigEndian)
            inet_ntop(AF_INET6, &address, &text, socklen_t(text.count))
        }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    public var description: String { isIPv4 ? "\(host):\(port)" : "[\(host)]:\(port)" }
}
