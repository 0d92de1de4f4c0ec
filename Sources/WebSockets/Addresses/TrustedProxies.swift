/// The proxies whose `X-Forwarded-For` is trusted to name the client of a request.
///
/// Each proxy appends its client's address to the list that it received: `client, proxy1`. So the list is read from its
/// end, and only as far as its writers are trusted. The first untrusted address is the client's. The client may have
/// invented the addresses before it.
///
/// `Forwarded` (RFC 7239) is not read: a proxy that knows only one of the two headers passes the other on unchanged.
public struct TrustedProxies: Sendable {
    public var ranges: [AddressRange]

    public init(_ ranges: [AddressRange] = []) {
        self.ranges = ranges
    }

    /// The client's address, as far as it can be trusted; `.unknown` if a trusted proxy's entry cannot be parsed. In
    /// that case the result is not the proxy's address, because addresses of this machine or of the operators' network
    /// may have more rights.
    ///
    /// - Parameters:
    ///   - peer: the connected peer.
    ///   - list: the header, all its lines joined by commas; `nil` if there is none.
    public func client(of peer: PeerAddress, _ list: String?) -> PeerAddress {
        guard let list, isTrusted(peer) else { return peer }
        var client = peer
        for element in list.split(separator: ",", omittingEmptySubsequences: false).reversed() {
            // The entry "unknown", an invented name or nonsense does not identify a client.
            guard let address = PeerAddress(forwarded: element) else { return .unknown }
            client = address
            guard isTrusted(address) else { break }
        }
        return client
    }

    public var hasAny: Bool { !ranges.isEmpty }

    /// Whether the address is a proxy whose entries are trusted.
    public func isTrusted(_ address: PeerAddress) -> Bool { ranges.contains { $0.contains(address) } }
}

extension PeerAddress {
    /// The common address of all clients that cannot be distinguished: the unspecified address, which no client has.
    static let unknown = PeerAddress(host: "::")!

    /// `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]` or `[2001:db8::1]:80`, with blanks around it.
    fileprivate init?(forwarded element: Substring) {
        var text = element
        while text.first == " " || text.first == "\t" { text.removeFirst() }
        while text.last == " " || text.last == "\t" { text.removeLast() }
        var host = text
        var port: Substring?
        if text.first == "[" {
            guard let end = text.firstIndex(of: "]") else { return nil }
            host = text[text.index(after: text.startIndex)..<end]
            let rest = text[text.index(after: end)...]
            guard rest.isEmpty || rest.first == ":", host.contains(":") else { return nil }
            port = rest.isEmpty ? nil : rest.dropFirst()
        } else if text.count(where: { $0 == ":" }) == 1, let colon = text.firstIndex(of: ":") {
            host = text[..<colon]
            port = text[text.index(after: colon)...]
        }
        guard let number = port.map({ UInt16($0) }) ?? 0 else { return nil }
        self.init(host: String(host), port: number)
    }
}
