/// From which pages browsers may connect.
///
/// A browser says in `Origin` which site its page came from, and a page cannot change that. Anything else that connects
/// sends none, or what it likes: this keeps foreign pages from using a visitor's browser, and nobody else out.
struct AllowedOrigins: Sendable {
    private let entries: [Entry]

    /// An origin as it is compared: a scheme and a host in small letters, its port only if that is not the scheme's own.
    enum Entry: Hashable, Sendable {
        case any
        /// What browsers say for pages without a site: files, sandboxed frames.
        case opaque
        case site(scheme: String, host: String, port: Int?)

        /// `nil` unless `text` is `*`, `null` or `scheme://host[:port]`.
        init?(_ text: String) {
            switch text {
            case "*": self = .any
            case "null": self = .opaque
            default:
                let parts = text.lowercased().split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false)
                guard parts.count == 2, let first = parts[0].utf8.first, 97...122 ~= first,
                    parts[0].utf8.allSatisfy({
                        97...122 ~= $0 || 48...57 ~= $0 || $0 == 0x2B || $0 == 0x2D || $0 == 0x2E
                    }),
                    let (host, port) = AllowedOrigins.hostAndPort(parts[1])
                else { return nil }
                let scheme = String(parts[0])
                self = .site(scheme: scheme, host: host, port: port == Self.standardPort[scheme] ? nil : port)
            }
        }

        private static let standardPort = ["http": 80, "https": 443]
    }

    /// - Parameter origins: checked by the configuration's validation; empty for the host that is connected to.
    init(_ origins: [String]) {
        entries = origins.compactMap(Entry.init)
    }

    /// Whether a browser with a page of `origin` may connect. Without one it is no browser.
    ///
    /// - Parameter host: the request's header Host.
    func allows(_ origin: String?, host: String?) -> Bool {
        guard let origin else { return true }
        let asked = Entry(origin)
        guard entries.isEmpty else { return entries.contains(.any) || asked.map(entries.contains) ?? false }
        // Ports may differ: the page and this server are often two servers of one machine.
        guard case .site(_, let name, _) = asked, let host, let own = Self.hostAndPort(host.lowercased()[...]) else {
            return false
        }
        return name == own.host
    }

    /// `nil` unless it is a name or an address, an IPv6 one in brackets, and perhaps a port.
    private static func hostAndPort(_ text: Substring) -> (host: String, port: Int?)? {
        let end = text.first == "[" ? text.firstIndex(of: "]").map(text.index(after:)) : text.firstIndex(of: ":")
        let host = text[..<(end ?? text.endIndex)]
        let rest = text[host.endIndex...]
        let isAddress = host.first == "[" && host.last == "]" && host.count > 2
        guard !host.isEmpty, isAddress || !host.contains(where: { "[]/?#@, ".contains($0) }) else { return nil }
        guard !rest.isEmpty else { return (String(host), nil) }
        guard rest.first == ":", rest.dropFirst().utf8.allSatisfy({ 48...57 ~= $0 }),
            let port = Int(rest.dropFirst()), port <= 65_535
        else { return nil }
        return (String(host), port)
    }
}
