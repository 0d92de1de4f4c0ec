/// An IP address or a range of them, in CIDR notation: `10.0.0.0/8`, `2001:db8::/32`, `192.0.2.7`.
public struct AddressRange: Hashable, Sendable {
    private let first: PeerAddress
    private let maskHigh: UInt64
    private let maskLow: UInt64

    /// `nil` unless `text` is such a range. Bits after the prefix must be zero, because the meaning of `10.1.2.3/8` is
    /// unclear.
    public init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = PeerAddress(host: String(parts[0])) else { return nil }
        let width = address.isIPv4 ? 32 : 128
        var length = width
        if parts.count == 2 {
            guard !parts[1].isEmpty, parts[1].utf8.allSatisfy({ 48...57 ~= $0 }), let number = Int(parts[1]),
                number <= width
            else { return nil }
            length = number
        }
        // An IPv4 address stands in the last 32 of 128 bits.
        length += 128 - width
        maskHigh = Self.ones(min(length, 64))
        maskLow = Self.ones(max(length - 64, 0))
        first = address
        guard address.high & ~maskHigh == 0, address.low & ~maskLow == 0 else { return nil }
    }

    private static func ones(_ count: Int) -> UInt64 { count == 0 ? 0 : ~0 << UInt64(64 - count) }

    public func contains(_ address: PeerAddress) -> Bool {
        address.high & maskHigh == first.high && address.low & maskLow == first.low
    }
}
