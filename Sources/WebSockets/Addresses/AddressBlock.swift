/// The addresses that count as one: an IPv4 address, or the /64 of an IPv6 one, of which every customer of a provider
/// has at least one to draw addresses from as they please. 8 bytes.
public struct AddressBlock: Hashable, Sendable {
    fileprivate let bits: UInt64

    /// That of no address: it is not counted.
    public static let none = AddressBlock(bits: 0)
    /// That of all clients that a proxy cannot name, which count as one. Its bits are those of a multicast /64, which no client has.
    static let unknown = AddressBlock(bits: .max)
}

extension PeerAddress {
    public var block: AddressBlock {
        // An IPv4 address keeps its mapping's mark, and so meets no /64: ::/8 is given to nobody. ::1 stands for itself.
        let bits = isIPv4 || high == 0 ? low : high
        return bits == 0 ? .unknown : AddressBlock(bits: bits)
    }
}
