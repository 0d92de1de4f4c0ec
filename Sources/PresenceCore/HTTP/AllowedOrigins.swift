import WebSockets

/// The origins of pages from which browsers may connect.
///
/// A browser sends the site of its page in `Origin`, and a page cannot change that. Other clients send none or any
/// value. So this keeps foreign pages from using a visitor's browser, and restricts no other client.
struct AllowedOrigins: Sendable {
    private let entries: [Entry]
    /// Whether the server is reachable from this machine only.
    private let isLoopback: Bool

    /// An origin in comparable form: scheme and host in lower case, and the port unless it is the scheme's default.
    enum Entry: Hashable, Sendable {
        case any
        /// The origin that browsers send for pages without a site: files, sandboxed frames.
        case opaque
        /// The origin that Electron and Cordova send for pages that are files.
        case files
        case site(scheme: String, host: String, port: Int?)

        /// `nil` unless `text` is `*`, `null`, `file://` or `scheme://host[:port]`, with the host as browsers write it:
        /// any other text would never equal an origin.
        init?(_ text: String) {
            switch text {
            case "*": self = .any
            case "null": self = .opaque
            case "file://": self = .files
            default:
                let parts = text.lowercased().split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false)
                guard parts.count == 2, let first = parts[0].utf8.first, 97...122 ~= first,
                    parts[0].utf8.allSatisfy({
                        97...122 ~= $0 || 48...57 ~= $0 || $0 == 0x2B || $0 == 0x2D || $0 == 0x2E
                    }),
                    let (host, port) = AllowedOrigins.hostAndPort(
                        parts[1], isWeb: Self.standardPort[String(parts[0])] != nil)
                else { return nil }
                let scheme = String(parts[0])
                self = .site(scheme: scheme, host: host, port: port == Self.standardPort[scheme] ? nil : port)
            }
        }

        private static let standardPort = ["http": 80, "https": 443]
    }

    /// - Parameters:
    ///   - origins: Checked by the configuration's validation; if empty, only the host that the browser connects to.
    ///   - isLoopback: Whether the server is reachable from this machine only.
    init(_ origins: [String], isLoopback: Bool = false) {
        entries = origins.compactMap(Entry.init)
        self.isLoopback = isLoopback
    }

    /// Whether a browser with a page of `origin` may connect. A client without an origin is not a browser.
    ///
    /// - Parameter host: The request's header Host.
    func allows(_ origin: String?, host: String?) -> Bool {
        guard let origin else { return true }
        let asked = Entry(origin)
        guard entries.isEmpty else { return entries.contains(.any) || asked.map(entries.contains) ?? false }
        // Ports may differ: the page is often served by another server on the same machine.
        guard case .site(_, let name, _) = asked, let host, let own = Self.hostAndPort(host.lowercased()[...]) else {
            return false
        }
        return name == own.host || isLoopback && Self.isOfThisMachine(name) && Self.isOfThisMachine(own.host)
    }

    private static func isOfThisMachine(_ host: String) -> Bool {
        host == "localhost" || address(host)?.isLoopback ?? false
    }

    /// `nil` for a name.
    private static func address(_ host: String) -> PeerAddress? {
        PeerAddress(host: host.first == "[" ? String(host.dropFirst().dropLast()) : host)
    }

    /// `nil` unless it is a name or an address (IPv6 in brackets), optionally with a port. Addresses are in the form
    /// that browsers give them.
    private static func hostAndPort(_ text: Substring, isWeb: Bool = true) -> (host: String, port: Int?)? {
        let end = text.first == "[" ? text.firstIndex(of: "]").map(text.index(after:)) : text.firstIndex(of: ":")
        let host = text[..<(end ?? text.endIndex)]
        let rest = text[host.endIndex...]
        guard let host = canonical(host, isWeb: isWeb) else { return nil }
        guard !rest.isEmpty else { return (host, nil) }
        guard rest.first == ":", rest.dropFirst().utf8.allSatisfy({ 48...57 ~= $0 }),
            let port = Int(rest.dropFirst()), port <= 65_535
        else { return nil }
        return (host, port)
    }

    private static func canonical(_ host: Substring, isWeb: Bool) -> String? {
        if host.first == "[" {
            guard host.last == "]", let address = PeerAddress(host: String(host.dropFirst().dropLast())),
                !address.isIPv4
            else { return nil }
            return "[\(address.host)]"
        }
        // Other letters are encoded as punycode, and `*` is not allowed in names.
        guard !host.isEmpty,
            host.utf8.allSatisfy({ 97...122 ~= $0 || 48...57 ~= $0 || $0 == 0x2D || $0 == 0x2E || $0 == 0x5F })
        else { return nil }
        // Browsers write an IPv4 address as four decimal bytes, however it was typed.
        let last = host.split(separator: ".").last ?? ""
        guard isWeb, last.utf8.allSatisfy({ 48...57 ~= $0 }) else { return String(host) }
        return PeerAddress(host: String(host)).map(\.host)
    }
}
