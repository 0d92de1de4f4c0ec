/// The address of the state: one server, the master that sentinels name, or a cluster.
///
///     redis://… or unix://…                                                       one server: see `RedisEndpoint`
///     redis+sentinel://[user:password@]host[:port],host[:port]/master[/database]  the sentinels' hosts, 26379 each
///     redis+cluster://[user:password@]host[:port],host[:port]                     some of the cluster's nodes
///
/// With `rediss` in place of `redis` all connections use TLS, also those to sentinels.
///
/// User and password are those of the servers with the data. Sentinels that require their own get them by
/// `?sentinel_username=…&sentinel_password=…`. `redis-sentinel` and `redis-cluster` are understood as well. No
/// description shows a password.
public enum RedisLocation: Sendable, Hashable {
    case server(RedisEndpoint)
    case sentinels(RedisSentinels)
    case cluster(RedisClusterSeeds)

    /// Whether connections use TLS. They are then impossible before `secure(by:)`.
    public var isSecure: Bool {
        switch self {
        case .server(let endpoint): endpoint.isSecure
        case .sentinels(let sentinels): sentinels.data.isSecure
        case .cluster(let seeds): seeds.seeds[0].isSecure
        }
    }

    /// Sets the TLS settings, if the address uses TLS.
    public mutating func secure(by tls: RedisTLS) {
        switch self {
        case .server(var endpoint):
            endpoint.secure(by: tls)
            self = .server(endpoint)
        case .sentinels(var sentinels):
            sentinels.secure(by: tls)
            self = .sentinels(sentinels)
        case .cluster(var seeds):
            seeds.secure(by: tls)
            self = .cluster(seeds)
        }
    }

    /// The number of the logical database that has the keys; a cluster has only database 0.
    public var database: Int {
        switch self {
        case .server(let endpoint): endpoint.database
        case .sentinels(let sentinels): sentinels.data.database
        case .cluster: 0
        }
    }
}

/// The sentinels of a master, and the credentials for the master that they name.
public struct RedisSentinels: Sendable, Hashable, CustomStringConvertible {
    public static let defaultPort: UInt16 = 26379

    /// The sentinels' addresses, with their own credentials.
    public private(set) var sentinels: [RedisEndpoint]
    /// The sentinels' name of the master.
    public let master: String
    /// Credentials and database of the servers with the data. The address has no meaning.
    private(set) var data: RedisEndpoint

    public var description: String {
        (data.isSecure ? "rediss" : "redis") + "+sentinel://" + sentinels.map(\.place).joined(separator: ",")
            + "/\(master)"
    }

    func endpoint(host: String, port: UInt16) -> RedisEndpoint {
        var endpoint = data
        endpoint.address = .tcp(host: host, port: port)
        return endpoint
    }

    fileprivate mutating func secure(by tls: RedisTLS) {
        data.secure(by: tls)
        for index in sentinels.indices { sentinels[index].secure(by: tls) }
    }
}

/// Some nodes of a cluster, from which the others are found; all nodes accept the same credentials.
public struct RedisClusterSeeds: Sendable, Hashable, CustomStringConvertible {
    public private(set) var seeds: [RedisEndpoint]

    public var description: String {
        (seeds[0].isSecure ? "rediss" : "redis") + "+cluster://" + seeds.map(\.place).joined(separator: ",")
    }

    public func endpoint(of node: ClusterNode) -> RedisEndpoint {
        var endpoint = seeds[0]
        endpoint.address = .tcp(host: node.host, port: node.port)
        return endpoint
    }

    fileprivate mutating func secure(by tls: RedisTLS) {
        for index in seeds.indices { seeds[index].secure(by: tls) }
    }
}

extension RedisLocation {
    /// - Throws: `RedisEndpointError`, whose message names the wrong part and contains no password.
    public init(url: String) throws(RedisEndpointError) {
        guard let (scheme, rest) = url.cut(at: "://"), url.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
            self = .server(try RedisEndpoint(url: url))
            return
        }
        switch scheme.lowercased() {
        case "redis+sentinel", "redis-sentinel": self = .sentinels(try RedisSentinels(rest, isSecure: false))
        case "rediss+sentinel", "rediss-sentinel": self = .sentinels(try RedisSentinels(rest, isSecure: true))
        case "redis+cluster", "redis-cluster": self = .cluster(try RedisClusterSeeds(rest, isSecure: false))
        case "rediss+cluster", "rediss-cluster": self = .cluster(try RedisClusterSeeds(rest, isSecure: true))
        case "redis", "unix", "rediss": self = .server(try RedisEndpoint(url: url))
        default:
            throw RedisEndpointError(
                message: "unknown scheme \"\(scheme)\": use redis://, rediss://, unix://, redis+sentinel:// or "
                    + "redis+cluster://")
        }
    }
}

extension RedisLocation: CustomStringConvertible {
    public var description: String {
        switch self {
        case .server(let endpoint): endpoint.description
        case .sentinels(let sentinels): sentinels.description
        case .cluster(let seeds): seeds.description
        }
    }
}

extension RedisSentinels {
    /// The text after `redis+sentinel://`.
    fileprivate init(_ text: Substring, isSecure: Bool) throws(RedisEndpointError) {
        let (beforeQuery, query) = text.cut(at: "?") ?? (text, "")
        let (user, password, place) = try RedisEndpoint.credentials(in: beforeQuery)
        guard let (hosts, path) = place.cut(at: "/"), !path.isEmpty else {
            throw RedisEndpointError(
                message: "the sentinels' name of the master is missing: redis+sentinel://host,host/master")
        }
        let (name, database) = path.cut(at: "/") ?? (path, "")
        guard let master = name.percentDecoded, !master.isEmpty else {
            throw RedisEndpointError(message: "the sentinels' name of the master is empty or badly written")
        }
        self.master = master
        var data = RedisEndpoint(.tcp(host: "", port: 0), user: user, password: password)
        if !database.isEmpty { data.database = try RedisEndpoint.database(database) }
        data.isSecure = isSecure
        self.data = data
        let own = try Self.ownCredentials(in: query)
        sentinels = try RedisEndpoint.list(
            hosts, defaultPort: Self.defaultPort, user: own.user, password: own.password, isSecure: isSecure)
    }

    private static func ownCredentials(
        in query: Substring
    ) throws(RedisEndpointError) -> (user: String?, password: String?) {
        var user: String?
        var password: String?
        for part in query.split(separator: "&") {
            let (name, value) = part.cut(at: "=") ?? (part, "")
            guard let decoded = value.percentDecoded, !decoded.isEmpty else {
                throw RedisEndpointError(message: "a parameter behind ? is empty or badly written")
            }
            switch name {
            case "sentinel_username": user = decoded
            case "sentinel_password": password = decoded
            default:
                throw RedisEndpointError(
                    message: "a redis+sentinel:// address takes only ?sentinel_username= and ?sentinel_password=")
            }
        }
        guard user == nil || password != nil else {
            throw RedisEndpointError(message: "sentinel_username needs a sentinel_password")
        }
        return (user, password)
    }
}

extension RedisClusterSeeds {
    /// The text after `redis+cluster://`.
    fileprivate init(_ text: Substring, isSecure: Bool) throws(RedisEndpointError) {
        guard !text.contains("?"), !text.contains("#") else {
            throw RedisEndpointError(message: "a redis+cluster:// address takes no ? or #")
        }
        let (user, password, place) = try RedisEndpoint.credentials(in: text)
        let (hosts, path) = place.cut(at: "/") ?? (place, "")
        guard path.isEmpty || path == "0" else {
            throw RedisEndpointError(message: "a Redis cluster has no databases but 0")
        }
        seeds = try RedisEndpoint.list(
            hosts, defaultPort: RedisEndpoint.defaultPort, user: user, password: password, isSecure: isSecure)
    }
}

extension RedisEndpoint {
    /// `host[:port],host[:port]`
    fileprivate static func list(
        _ text: Substring, defaultPort: UInt16, user: String?, password: String?, isSecure: Bool
    ) throws(RedisEndpointError) -> [RedisEndpoint] {
        var endpoints: [RedisEndpoint] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let (host, port) = try hostAndPort(in: part, defaultPort: defaultPort)
            var endpoint = RedisEndpoint(.tcp(host: host, port: port), user: user, password: password)
            endpoint.isSecure = isSecure
            endpoints.append(endpoint)
        }
        return endpoints
    }

    fileprivate mutating func secure(by tls: RedisTLS) {
        if isSecure { self.tls = tls }
    }

    /// Only `host:port`.
    fileprivate var place: String {
        guard case .tcp(let host, let port) = address else { return description }
        return host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
}
