import Glibc

/// Addresses that belong to this machine or its network, or to no host at all: the IANA's registries of special-purpose
/// addresses. Services at these addresses are not meant for strangers.
enum PrivateAddresses {
    /// Whether the address is private. True for families other than IPv4 and IPv6.
    static func contain(_ address: UnsafePointer<sockaddr>, length: Int) -> Bool {
        let raw = UnsafeRawPointer(address)
        switch Int32(address.pointee.sa_family) {
        case AF_INET where length >= MemoryLayout<sockaddr_in>.size:
            return containV4(UInt32(bigEndian: raw.loadUnaligned(as: sockaddr_in.self).sin_addr.s_addr))
        case AF_INET6 where length >= MemoryLayout<sockaddr_in6>.size:
            let address = raw.loadUnaligned(as: sockaddr_in6.self).sin6_addr
            return withUnsafeBytes(of: address) { containV6(Array($0)) }
        default: return true
        }
    }

    /// The same for an address as text. True for text that is not an address.
    static func contain(_ text: String) -> Bool {
        var v4 = in_addr()
        if inet_pton(AF_INET, text, &v4) == 1 { return containV4(UInt32(bigEndian: v4.s_addr)) }
        var v6 = in6_addr()
        guard inet_pton(AF_INET6, text, &v6) == 1 else { return true }
        return withUnsafeBytes(of: v6) { containV6(Array($0)) }
    }

    private static let v4: [(UInt32, UInt32)] = [
        (0x0000_0000, 8), (0x0A00_0000, 8), (0x6440_0000, 10), (0x7F00_0000, 8), (0xA9FE_0000, 16), (0xAC10_0000, 12),
        (0xC000_0000, 24), (0xC000_0200, 24), (0xC058_6300, 24), (0xC0A8_0000, 16), (0xC612_0000, 15),
        (0xC633_6400, 24), (0xCB00_7100, 24), (0xE000_0000, 4), (0xF000_0000, 4),
    ]

    private static func containV4(_ address: UInt32) -> Bool {
        v4.contains { address >> (32 - $0.1) == $0.0 >> (32 - $0.1) }
    }

    /// - Parameter bytes: 16 bytes.
    private static func containV6(_ bytes: [UInt8]) -> Bool {
        func v4(at place: Int) -> Bool { containV4(bytes[place..<place + 4].reduce(0) { $0 << 8 | UInt32($1) }) }
        // Mapped IPv4 addresses (::ffff:0:0/96), those of translation (64:ff9b::/96) and of 6to4 (2002::/16) lead to
        // the IPv4 address.
        if bytes.starts(with: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]) { return v4(at: 12) }
        if bytes.starts(with: [0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0]) { return v4(at: 12) }
        if bytes.starts(with: [0x20, 0x02]) { return v4(at: 2) }
        // Global unicast is 2000::/3. In it, 2001::/23 is for protocols, and 2001:db8::/32 and 3fff::/20 are for
        // documents.
        guard bytes[0] >> 5 == 1 else { return true }
        if bytes.starts(with: [0x20, 0x01]), bytes[2] < 2 { return true }
        if bytes.starts(with: [0x20, 0x01, 0x0D, 0xB8]) { return true }
        return bytes[0] == 0x3F && bytes[1] == 0xFF && bytes[2] >> 4 == 0
    }
}
