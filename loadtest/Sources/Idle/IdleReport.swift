/// The results of an idle run.
struct IdleReport: Report {
    let scenario = "idle"
    let server: String
    /// The file of the peer's templates; absent if our own server was measured.
    let peer: String?
    let connections: Int
    /// People that each connection subscribed to at first, and later in addition.
    let watching: Int
    let further: Int
    let seconds: Double

    /// Share of one core, during the quiet time.
    let serverCPUShare: Double
    let ownCPUShare: Double
    /// Absent without --redis-pid.
    let redisCPUShare: Double?
    /// By the server's own count; absent for a peer.
    let serverRedisRoundTripsPerSecond: Double?
    /// By Redis' count, for all clients; absent without --redis-socket.
    let redisCommandsPerSecond: Double?

    /// Private memory of the server's processes: written and not shared; and the part of it without a file.
    let userKBPerConnection: Double
    let anonymousKBPerConnection: Double
    /// Absent without --redis-pid.
    let redisKBPerConnection: Double?
    /// The kernel's memory for both ends of a connection: the client's is about half of it.
    let kernelSlabKBPerConnectionBothEnds: Double
    let kernelTCPKBPerConnectionBothEnds: Double
    /// Absent with --further 0.
    let userBytesPerFurtherWatch: Double?
    let redisBytesPerFurtherWatch: Double?
    let serverCPUMicrosecondsPerFurtherWatch: Double?

    let serverEmpty: ProcessMemory
    let serverIdle: ProcessMemory
    let serverWatchingMore: ProcessMemory
    let failures: [String]
    let succeeded: Bool

    init(_ options: IdleCommand, _ readings: IdleRun.Readings) {
        server = options.server.url
        peer = options.peering.peer
        connections = options.gathering.connections
        watching = options.gathering.watching
        further = options.further
        guard let empty = readings.empty, let began = readings.quietBegan, let ended = readings.quietEnded,
            let more = readings.watchingMore
        else { preconditionFailure("the run did not come to its end") }
        seconds = (ended.at - began.at).inSeconds
        let wall = max(seconds, 1e-9)
        func share(_ before: Nanoseconds, _ after: Nanoseconds) -> Double { (after - before).inSeconds / wall }
        serverCPUShare = share(began.serverUsed, ended.serverUsed)
        ownCPUShare = share(began.ownUsed, ended.ownUsed)
        redisCPUShare = Self.both(began.redisUsed, ended.redisUsed).map(share)
        serverRedisRoundTripsPerSecond = Self.both(began.redisRoundTrips, ended.redisRoundTrips)
            .map { ($1 - $0) / wall }
        // Without the last reading's own command.
        redisCommandsPerSecond = Self.both(began.redisCommands, ended.redisCommands)
            .map { Double(max(0, $1 - $0 - 1)) / wall }

        let count = Double(connections)
        userKBPerConnection = Double((began.serverMemory - empty.serverMemory).privateDirtyKB) / count
        anonymousKBPerConnection = Double((began.serverMemory - empty.serverMemory).anonymousKB) / count
        redisKBPerConnection = Self.both(empty.redisMemory, began.redisMemory)
            .map { Double(($1 - $0).privateDirtyKB) / count }
        kernelSlabKBPerConnectionBothEnds = Double((began.kernel - empty.kernel).slabKB) / count
        kernelTCPKBPerConnectionBothEnds = Double((began.kernel - empty.kernel).tcpKB) / count

        let watches = count * Double(further)
        func perWatch(_ kilobytes: Int) -> Double? { watches > 0 ? Double(kilobytes) * 1_024 / watches : nil }
        userBytesPerFurtherWatch = perWatch((more.serverMemory - ended.serverMemory).privateDirtyKB)
        redisBytesPerFurtherWatch = Self.both(ended.redisMemory, more.redisMemory)
            .flatMap { perWatch(($1 - $0).privateDirtyKB) }
        serverCPUMicrosecondsPerFurtherWatch =
            watches > 0 ? Double(more.serverUsed - ended.serverUsed) / 1e3 / watches : nil
        serverEmpty = empty.serverMemory
        serverIdle = began.serverMemory
        serverWatchingMore = more.serverMemory
        // A report exists only if no connection was lost, all clients connected and every subscription was answered.
        failures = []
        succeeded = true
    }

    private static func both<Value>(_ a: Value?, _ b: Value?) -> (Value, Value)? {
        guard let a, let b else { return nil }
        return (a, b)
    }

    var text: String {
        var lines = [
            "\(formatted(connections)) connections, each watching \(watching) people, idle for "
                + "\(formatted(seconds, digits: 0)) s",
            "  server           \(formatted(serverCPUShare * 100, digits: 2)) % of a core",
            "  memory           \(formatted(userKBPerConnection, digits: 2)) KB a connection in the server",
            "  kernel           \(formatted(kernelSlabKBPerConnectionBothEnds, digits: 2)) KB a connection of objects, "
                + "\(formatted(kernelTCPKBPerConnectionBothEnds, digits: 2)) KB of queues, both ends together",
        ]
        if let userBytesPerFurtherWatch {
            lines.append(
                "  watching more    \(formatted(userBytesPerFurtherWatch)) bytes for each of "
                    + "\(formatted(further)) further people")
        }
        if let trips = serverRedisRoundTripsPerSecond {
            lines.append("  Redis            \(formatted(trips)) commands a second by the server's count")
        }
        if let commands = redisCommandsPerSecond {
            lines.append("  Redis            \(formatted(commands)) commands a second by its own count")
        }
        if let redisKBPerConnection, let redisCPUShare {
            lines.append(
                "  Redis            \(formatted(redisKBPerConnection, digits: 2)) KB a connection, "
                    + "\(formatted(redisCPUShare * 100, digits: 2)) % of a core")
        }
        lines.append("  this tool        \(formatted(ownCPUShare * 100)) % of a core")
        return lines.joined(separator: "\n") + "\n"
    }
}
