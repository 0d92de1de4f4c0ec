import Glibc

/// How a process divides its open files: if connections used all of them, it could not reconnect to Redis.
package struct DescriptorRoom: Equatable {
    /// For WebSockets; `limits.maxConnections` may be lower.
    package let webSockets: Int
    /// For other connections: `limits.handshakes`, but at most a quarter of all connections.
    package let handshakes: Int

    /// Reserved for the process: files, listening sockets, the journal, and calls to other servers, each of which needs
    /// at most one connection while it runs.
    static let process = 136
    /// Reserved for a shard: for its loop, and for 3 or 4 connections to Redis, in a cluster 3 or 4 to each master.
    static let shard = 32

    /// - Parameter openFiles: The limit of the process.
    package init(of openFiles: Int, shards: Int, limits: ServerConfiguration.Limits) {
        let rest = max(32, openFiles - Self.process - shards * Self.shard)
        handshakes = min(limits.handshakes, max(16, rest / 4))
        webSockets = rest - handshakes
    }

    /// The process' limit of open files; the POSIX default if unknown.
    package static var limit: Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1_024 }
        return Int(clamping: limit.rlim_cur)
    }
}
