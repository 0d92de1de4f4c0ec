extension RedisServerProcess {
    /// The settings of the server's own Redis; config/redis.conf is for a Redis that is started by hand.
    static func settings(
        directory: DataDirectory, socket: String, appendfsync: AppendFsync
    ) -> [(name: String, value: [String])] {
        [
            // Redis listens only on a socket that only this user can open.
            ("port", ["0"]),
            ("unixsocket", [socket]),
            ("unixsocketperm", ["700"]),
            ("dir", [directory.path]),
            ("logfile", [directory.file("redis.log")]),
            ("pidfile", [directory.file("redis.pid")]),
            ("daemonize", ["no"]),
            ("appendfsync", [own(appendfsync)]),
            ("maxmemory", [String(mostMemory)]),
        ] + sharedSettings
    }

    /// In bytes: three fifths of the memory of the machine or container. When that much is used, Redis rejects changes
    /// until some data is removed; without a limit, the kernel would kill Redis or another process. The remaining
    /// memory is for the changes during a rewrite of Redis' log, for connections, and for presenced.
    static var mostMemory: Int { MachineMemory.bytes / 5 * 3 }

    /// The setting for Redis itself. `everysec` becomes `no`, because the server syncs the log from outside (``syncLog(until:)``).
    private static func own(_ appendfsync: AppendFsync) -> String {
        switch appendfsync {
        case .always: "always"
        case .everySecond, .no: "no"
        }
    }

    /// The settings that a presence server needs of any Redis.
    static let sharedSettings: [(name: String, value: [String])] = [
        // Every change is written to the log before it is answered. Snapshots would add only cost.
        ("appendonly", ["yes"]),
        ("save", [""]),
        // A full Redis rejects new writes with an error. Any other policy would silently evict users.
        ("maxmemory-policy", ["noeviction"]),
        // A user is one small hash. Up to this many fields, none longer than this many bytes, Redis stores the hash as
        // a list, which takes half the memory of a table.
        ("hash-max-listpack-entries", ["128"]),
        ("hash-max-listpack-value", ["512"]),
        // Redis' own percentiles of each command (LATENCY HISTOGRAM) are not read: presenced measures the replies of
        // scripts.
        ("latency-tracking", ["no"]),
        // Redis disconnects a shard whose unread events exceed this; the shard then resynchronises.
        ("client-output-buffer-limit", ["pubsub", "256mb", "64mb", "60"]),
    ]
}
