extension RedisServerProcess {
    /// How the server's own Redis is set up; config/redis.conf is for one that is run by hand.
    static func settings(
        directory: DataDirectory, socket: String, appendfsync: AppendFsync
    ) -> [(name: String, value: [String])] {
        [
            // Reached through a socket that only this user can open, and by nothing else.
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

    /// In bytes: three fifths of what the machine or the container has. Beyond it Redis refuses changes, which ends once something
    /// is removed; without it, the kernel kills Redis or another process. The rest is for the copy of what changes while Redis
    /// writes its log anew, for connections, and for presenced.
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
        // Every change goes to the log before it is answered; snapshots would add nothing but their cost.
        ("appendonly", ["yes"]),
        ("save", [""]),
        // Full, Redis refuses new writes and says so; any other policy would drop people in silence.
        ("maxmemory-policy", ["noeviction"]),
        // A user is one small hash: as a list of up to so many fields, none longer than so many bytes, it takes half of what a
        // table takes.
        ("hash-max-listpack-entries", ["128"]),
        ("hash-max-listpack-value", ["512"]),
        // Nobody reads Redis' own percentiles of each command (LATENCY HISTOGRAM); presenced measures the answers of scripts.
        ("latency-tracking", ["no"]),
        // A shard that is behind with its events is cut off at this much, and reads everything anew.
        ("client-output-buffer-limit", ["pubsub", "256mb", "64mb", "60"]),
    ]
}
