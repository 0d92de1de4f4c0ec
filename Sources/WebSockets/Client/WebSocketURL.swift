/// The address of a WebSocket: `ws://host:port/path?query` or `wss://…`.
public struct WebSocketURL: Hashable, Sendable, CustomStringConvertible {
    public var isSecure: Bool
    /// A name or an address; an IPv6 address without brackets.
    public var host: String
    public var port: Int
    /// With the query, beginning with `/`.
    public var path: String

    public init(isSecure: Bool, host: String, port: Int, path: String) {
        self.isSecure = isSecure
        self.host = host
        self.port = port
        self.path = path
    }

    /// nil unless the text is such an address. A fragment is dropped.
    public init?(_ text: String) {
        guard let scheme = text.range(of: "://") else { return nil }
        switch text[..<scheme.lowerBound].lowercased() {
        case "ws": isSecure = false
        case "wss": isSecure = true
        default: return nil
        }
        let rest = text[scheme.upperBound...].prefix { $0 != "#" }
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        let path = rest[authority.endIndex...]
        self.path = path.hasPrefix("/") ? String(path) : "/" + path

        var portText: Substring?
        if authority.hasPrefix("[") {
            guard let end = authority.firstIndex(of: "]") else { return nil }
            host = String(authority[authority.index(after: authority.startIndex)..<end])
            let after = authority[authority.index(after: end)...]
            guard after.isEmpty || after.hasPrefix(":") else { return nil }
            portText = after.isEmpty ? nil : after.dropFirst()
        } else {
            let parts = authority.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            host = parts.first.map(String.init) ?? ""
            portText = parts.count > 1 ? parts[1] : nil
        }
        port = isSecure ? 443 : 80
        if let portText {
            guard let number = Int(portText), 1...65535 ~= number else { return nil }
            port = number
        }
        let isPlain = text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7f }
        guard !host.isEmpty, !host.contains("@"), isPlain else { return nil }
    }

    private var hostAndPort: String {
        let host = self.host.contains(":") ? "[\(self.host)]" : self.host
        return port == (isSecure ? 443 : 80) ? host : "\(host):\(port)"
    }

    /// The value of the header Host.
    var hostHeader: String { hostAndPort }

    public var description: String { "\(isSecure ? "wss" : "ws")://\(hostAndPort)\(path)" }
}

extension String {
    /// The first occurrence of `other`, by bytes.
    fileprivate func range(of other: String) -> Range<Index>? {
        var start = startIndex
        while start < endIndex {
            if self[start...].hasPrefix(other) { return start..<index(start, offsetBy: other.count) }
            start = index(after: start)
        }
        return nil
    }
}
