import Glibc

/// A server's address, resolved once, and the target of the upgrade request.
struct Endpoint {
    let url: String
    /// As in the `Host` header.
    let authority: String
    let path: String
    /// A `sockaddr_in` or `sockaddr_in6`, in the system's format.
    let address: [UInt8]
    let family: Int32

    /// Whether the server is on this machine's 127.0.0.0/8, so that connections may come from any address there.
    var isLoopback: Bool { family == AF_INET && address[4] == 127 }

    /// Parses `ws://HOST[:PORT][/PATH]`. Fails with a sentence for its author.
    init(url: String) throws(Failure) {
        guard !url.hasPrefix("wss://") else { throw Failure("presence-load speaks plain ws://, not wss://: \(url)") }
        guard url.hasPrefix("ws://") else {
            throw Failure("a server's address looks like ws://HOST:PORT/v1/ws: \(url)")
        }
        let rest = url.dropFirst("ws://".count)
        let slash = rest.firstIndex(of: "/") ?? rest.endIndex
        let authority = String(rest[..<slash])
        self.url = url
        self.authority = authority
        self.path = slash == rest.endIndex ? "/v1/ws" : String(rest[slash...])
        let (host, port) = try Self.split(authority)
        (address, family) = try Self.resolve(host: host, port: port)
    }

    private static func split(_ authority: String) throws(Failure) -> (host: String, port: String) {
        var host = Substring(authority)
        var port: Substring = "80"
        let afterBrackets = authority.lastIndex(of: "]") ?? authority.startIndex
        if let colon = authority[afterBrackets...].lastIndex(of: ":") {
            host = authority[..<colon]
            port = authority[authority.index(after: colon)...]
        }
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard !host.isEmpty, UInt16(port) != nil else { throw Failure("not a host and a port: \(authority)") }
        return (String(host), String(port))
    }

    private static func resolve(host: String, port: String) throws(Failure) -> ([UInt8], Int32) {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host, port, &hints, &found)
        guard status == 0, let first = found else {
            throw Failure("cannot find the host \(host): \(String(cString: gai_strerror(status)))")
        }
        defer { freeaddrinfo(first) }
        let bytes = UnsafeRawBufferPointer(start: first.pointee.ai_addr, count: Int(first.pointee.ai_addrlen))
        return ([UInt8](bytes), first.pointee.ai_family)
    }
}
