import Glibc

/// How a process divides its open files: if connections took all of them, it could not reconnect to Redis.
package struct DescriptorRoom: Equatable {
    /// WebSockets, unless `limits.maxConnections` says less.
    package let webSockets: Int
    /// Connections that are no WebSockets: `limits.handshakes`, but at most a quarter of what connections have together.
    package let handshakes: Int

    /// Beside connections: files, listening sockets, the journal, and calls to other servers, of which there are at most as
    /// many connections as run at a time.
    static let process = 136
    /// Of a shard: its loop's own, and its connections to Redis, 3 or 4 of them, in a cluster as many to each master.
    static let shard = 32

    /// - Parameter openFiles: The limit of the process.
    package init(of openFiles: Int, shards: Int, limits: ServerConfiguration.Limits) {
        let rest = max(32, openFiles - Self.process - shards * Self.shard)
        handshakes = min(limits.handshakes, max(16, rest / 4))
        webSockets = rest - handshakes
    }

    /// The process' limit of open files; what POSIX systems begin with if it is not known.
    package static var limit: Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1_024 }
        return Int(clamping: limit.rlim_cur)
    }
}
