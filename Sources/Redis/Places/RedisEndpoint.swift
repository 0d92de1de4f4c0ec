/// The address of a Redis server, and the credentials for it.
///
/// Written as `redis://[user[:password]@]host[:port][/database]`, `rediss://…` for the same over TLS,
/// `unix://[user[:password]@]/path[?db=N]`, or plain `host[:port]`. User and password are percent-decoded; an empty
/// user (`redis://:secret@host`) is Redis' own `default`. Neither `description` nor `debugDescription` nor a mirror
/// shows the password.
public struct RedisEndpoint: Sendable, Hashable {
    /// How to reach the server.
    public enum Address: Sendable, Hashable {
        /// An IPv6 host has no brackets here.
        case tcp(host: String, port: UInt16)
        case unix(path: String)
    }

    public static let defaultPort: UInt16 = 6379

    /// The longest path of a Unix socket, in bytes: `sun_path` less its end, less one that hiredis leaves unset.
    public static let maximumPathLength = 106

    public var address: Address
    public var user: String?
    public var password: String?
    /// The number of the logical database, by default 0.
    public var database: Int
    /// Whether connections use TLS. They are then impossible without `tls`.
    public var isSecure = false
    public var tls: RedisTLS?

    public init(_ address: Address, user: String? = nil, password: String? = nil, database: Int = 0) {
        self.address = address
        self.user = user
        self.password = password
        self.database = database
    }
}

/// The fault in an endpoint's text. The message never contains a password.
public struct RedisEndpointError: Error, Hashable, CustomStringConvertible {
    public let message: String
    public var description: String { message }
}

extension RedisEndpoint: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String {
        let name = user.map { "\($0)@" } ?? ""
        switch address {
        case .tcp(let host, let port):
            let shown = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
            return (isSecure ? "rediss" : "redis") + "://\(name)\(shown):\(port)"
                + (database == 0 ? "" : "/\(database)")
        case .unix(let path):
            return "unix://\(name)\(path)" + (database == 0 ? "" : "?db=\(database)")
        }
    }

    public var debugDescription: String { description }

    public var customMirror: Mirror { Mirror(self, children: ["endpoint": description]) }
}
