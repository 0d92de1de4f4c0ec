/// Where the state is kept: on one server, on whichever the sentinels call the master, or spread over a cluster.
///
///     redis://… or unix://…                                                       one server: see `RedisEndpoint`
///     redis+sentinel://[user:password@]host[:port],host[:port]/master[/database]  the sentinels' hosts, 26379 each
///     redis+cluster://[user:password@]host[:port],host[:port]                     some of the cluster's nodes
///
/// User and password are those of the servers that hold the data. Sentinels that ask for their own get them by
/// `?sentinel_username=…&sentinel_password=…`. `redis-sentinel` and `redis-cluster` are understood as well. No
/// description shows a password.
public enum RedisLocation: Sendable, Hashable {
    case server(RedisEndpoint)
    case sentinels(RedisSentinels)
    case cluster(RedisClusterSeeds)

    /// The number of the logical database in which the keys are; a cluster has only database 0.
    public var database: Int {
        switch self {
        case .server(let endpoint): endpoint.database
        case .sentinels(let sentinels): sentinels.data.database
        case .cluster: 0
        }
    }
}

/// The sentinels that watch over a master, and how to speak to the master that they name.
public struct RedisSentinels: Sendable, Hashable, CustomStringConvertible {
    public static let defaultPort: UInt16 = 26379

    /// Where they are, with their own credentials.
    public let sentinels: [RedisEndpoint]
    /// What they call the master.
    public let master: String
    /// Credentials and database of the servers that hold the data. The address means nothing.
    let data: RedisEndpoint

    public var description: String {
        "redis+sentinel://" + sentinels.map(\.place).joined(separator: ",") + "/\(master)"
    }

    func endpoint(host: String, port: UInt16) -> RedisEndpoint {
        RedisEndpoint(.tcp(host: host, port: port), user: data.user, password: data.password, database: data.database)
    }
}

/// Nodes of a cluster to ask for all the others; all nodes take the same credentials.
public struct RedisClusterSeeds: Sendable, Hashable, CustomStringConvertible {
    public let seeds: [RedisEndpoint]

    public var description: String { "redis+cluster://" + seeds.map(\.place).joined(separator: ",") }

    public func endpoint(of node: ClusterNode) -> RedisEndpoint {
        RedisEndpoint(.tcp(host: node.host, port: node.port), user: seeds[0].user, password: seeds[0].password)
    }
}

extension RedisLocation {
    /// - Throws: `RedisEndpointError`, whose message says which part is wrong and repeats no password.
    public init(url: String) throws(RedisEndpointError) {
        guard let (scheme, rest) = url.cut(at: "://"), url.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
            self = .server(try RedisEndpoint(url: url))
            return
        }
        switch scheme.lowercased() {
        case "redis+sentinel", "redis-sentinel": self = .sentinels(try RedisSentinels(rest))
        case "redis+cluster", "redis-cluster": self = .cluster(try RedisClusterSeeds(rest))
        case "redis", "unix", "rediss": self = .server(try RedisEndpoint(url: url))
        case "rediss+sentinel", "rediss+cluster":
            throw RedisEndpointError(message: "Redis over TLS (\(scheme)://) is not supported")
        default:
            throw RedisEndpointError(
                message: "unknown scheme \"\(scheme)\": use redis://, unix://, redis+sentinel:// or redis+cluster://")
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
    /// What stands behind `redis+sentinel://`.
    fileprivate init(_ text: Substring) throws(RedisEndpointError) {
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
        self.data = data
        let own = try Self.ownCredentials(in: query)
        sentinels = try RedisEndpoint.list(hosts, defaultPort: Self.defaultPort, user: own.user, password: own.password)
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
    /// What stands behind `redis+cluster://`.
    fileprivate init(_ text: Substring) throws(RedisEndpointError) {
        guard !text.contains("?"), !text.contains("#") else {
            throw RedisEndpointError(message: "a redis+cluster:// address takes no ? or #")
        }
        let (user, password, place) = try RedisEndpoint.credentials(in: text)
        let (hosts, path) = place.cut(at: "/") ?? (place, "")
        guard path.isEmpty || path == "0" else {
            throw RedisEndpointError(message: "a Redis cluster has no databases but 0")
        }
        seeds = try RedisEndpoint.list(
            hosts, defaultPort: RedisEndpoint.defaultPort, user: user, password: password)
    }
}

extension RedisEndpoint {
    /// `host[:port],host[:port]`
    fileprivate static func list(
        _ text: Substring, defaultPort: UInt16, user: String?, password: String?
    ) throws(RedisEndpointError) -> [RedisEndpoint] {
        var endpoints: [RedisEndpoint] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let (host, port) = try hostAndPort(in: part, defaultPort: defaultPort)
            endpoints.append(RedisEndpoint(.tcp(host: host, port: port), user: user, password: password))
        }
        return endpoints
    }

    /// `host:port` alone.
    fileprivate var place: String {
        guard case .tcp(let host, let port) = address else { return description }
        return host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
}
