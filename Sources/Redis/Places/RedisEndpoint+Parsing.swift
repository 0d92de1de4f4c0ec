extension RedisEndpoint {
    /// Reads an endpoint from its text.
    ///
    /// - Throws: `RedisEndpointError`, whose message names the wrong part.
    public init(url: String) throws(RedisEndpointError) {
        guard !url.isEmpty else { throw RedisEndpointError(message: "the Redis address is empty") }
        guard url.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
            throw RedisEndpointError(message: "the Redis address holds a space or a control character")
        }
        guard let (scheme, rest) = url.cut(at: "://") else {
            guard !url.contains("@"), !url.contains("/") else {
                throw RedisEndpointError(
                    message: "a Redis address with a user, a path or a database starts with redis:// or unix://")
            }
            try self.init(tcp: url[...], user: nil, password: nil)
            return
        }
        let (user, password, place) = try Self.credentials(in: rest)
        switch scheme.lowercased() {
        case "redis": try self.init(tcp: place, user: user, password: password)
        case "unix": try self.init(unix: place, user: user, password: password)
        case "rediss":
            try self.init(tcp: place, user: user, password: password)
            isSecure = true
        default: throw RedisEndpointError(message: "unknown scheme \"\(scheme)\": use redis://, rediss:// or unix://")
        }
    }

    /// `host[:port][/database]`
    private init(tcp text: Substring, user: String?, password: String?) throws(RedisEndpointError) {
        guard !text.contains("?"), !text.contains("#") else {
            throw RedisEndpointError(message: "a redis:// or rediss:// address takes no ? or #")
        }
        let (place, path) = text.cut(at: "/") ?? (text, "")
        let (host, number) = try Self.hostAndPort(in: place, defaultPort: Self.defaultPort)
        self.init(.tcp(host: host, port: number), user: user, password: password)
        if !path.isEmpty { database = try Self.database(path) }
    }

    /// `host[:port]`, an IPv6 host in brackets.
    static func hostAndPort(
        in place: Substring, defaultPort: UInt16
    ) throws(RedisEndpointError) -> (host: String, port: UInt16) {
        let host: Substring
        let port: Substring?
        if place.first == "[" {
            guard let (inner, after) = place.dropFirst().cut(at: "]"), after.isEmpty || after.first == ":" else {
                throw RedisEndpointError(message: "an IPv6 host is written [address]:port")
            }
            (host, port) = (inner, after.isEmpty ? nil : after.dropFirst())
        } else {
            (host, port) = place.cut(at: ":").map { ($0.0, $0.1) } ?? (place, nil)
            guard port?.contains(":") != true else {
                throw RedisEndpointError(message: "an IPv6 host needs brackets: [address]:port")
            }
        }
        guard !host.isEmpty else { throw RedisEndpointError(message: "the Redis address has no host") }
        let number = try port.map { text throws(RedisEndpointError) in try Self.port(text) } ?? defaultPort
        return (String(host), number)
    }

    /// `/path[?db=N]`
    private init(unix text: Substring, user: String?, password: String?) throws(RedisEndpointError) {
        let (path, query) = text.cut(at: "?") ?? (text, "")
        guard path.first == "/", path.utf8.count > 1 else {
            throw RedisEndpointError(message: "a unix:// address needs an absolute path: unix:///run/redis.sock")
        }
        guard path.utf8.count <= Self.maximumPathLength else {
            throw RedisEndpointError(
                message: "the path of the Unix socket is longer than \(Self.maximumPathLength) bytes: \(path)")
        }
        self.init(.unix(path: String(path)), user: user, password: password)
        guard !query.isEmpty else { return }
        guard let (name, value) = query.cut(at: "="), name == "db" else {
            throw RedisEndpointError(message: "a unix:// address takes only ?db=N, not \"?\(query)\"")
        }
        database = try Self.database(value)
    }

    /// Everything up to the last `@` is user and password: both may contain an unescaped `@` by mistake, a host cannot.
    static func credentials(
        in text: Substring
    ) throws(RedisEndpointError) -> (user: String?, password: String?, place: Substring) {
        guard let at = text.lastIndex(of: "@") else { return (nil, nil, text) }
        let place = text[text.index(after: at)...]
        guard let (name, secret) = text[..<at].cut(at: ":") else {
            throw RedisEndpointError(message: "a user needs a password: redis://user:password@host")
        }
        guard let user = name.percentDecoded else {
            throw RedisEndpointError(message: "the user holds a % that is not followed by two hex digits of UTF-8")
        }
        guard let password = secret.percentDecoded else {
            throw RedisEndpointError(message: "the password holds a % that is not followed by two hex digits of UTF-8")
        }
        guard !password.isEmpty else {
            throw RedisEndpointError(message: "the password is empty")
        }
        return (user.isEmpty ? nil : user, password, place)
    }

    private static func port(_ text: Substring) throws(RedisEndpointError) -> UInt16 {
        guard text.utf8.allSatisfy(\.isDigit), let port = UInt16(text), port > 0 else {
            throw RedisEndpointError(message: "the port \"\(text)\" is not a number from 1 to 65535")
        }
        return port
    }

    static func database(_ text: Substring) throws(RedisEndpointError) -> Int {
        guard text.utf8.allSatisfy(\.isDigit), let number = Int32(text) else {
            throw RedisEndpointError(message: "the database \"\(text)\" is not a number")
        }
        return Int(number)
    }
}

extension UInt8 {
    fileprivate var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

    fileprivate var hexValue: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

extension StringProtocol where SubSequence == Substring {
    /// The text before and after the first `separator`, or `nil` if there is none.
    func cut(at separator: String) -> (Substring, Substring)? {
        var start = startIndex
        while start != endIndex {
            if self[start...].hasPrefix(separator) {
                return (self[..<start], self[index(start, offsetBy: separator.count)...])
            }
            start = index(after: start)
        }
        return nil
    }

    /// The text with `%41` decoded as the byte 0x41, or `nil` if an escape is malformed or the result is not UTF-8.
    var percentDecoded: String? {
        var bytes: [UInt8] = []
        var rest = Array(utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst()?.hexValue, let low = rest.popFirst()?.hexValue else { return nil }
            bytes.append(high << 4 | low)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
