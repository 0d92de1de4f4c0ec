/// The addresses that count as one client: an IPv4 address, or the /64 of an IPv6 address, since a provider's customer
/// can choose any address of at least one /64. 8 bytes.
public struct AddressBlock: Hashable, Sendable {
    fileprivate let bits: UInt64

    /// The block of no address: nothing is counted under it.
    public static let none = AddressBlock(bits: 0)
    /// The common block of all clients that a proxy does not name. Its bits are those of a multicast /64, which no
    /// client has.
    static let unknown = AddressBlock(bits: .max)
}

extension PeerAddress {
    public var block: AddressBlock {
        // An IPv4 address keeps the mark of its mapping, and so equals no /64, because ::/8 is not assigned. ::1 is a
        // block of its own.
        let bits = isIPv4 || high == 0 ? low : high
        return bits == 0 ? .unknown : AddressBlock(bits: bits)
    }
}
