/// All readings of the server, its Redis and the kernel at one moment.
struct IdleReading {
    var at: Instant
    var serverUsed: Nanoseconds
    var serverMemory: ProcessMemory
    var kernel: KernelMemory
    /// Absent without a Redis' process.
    var redisUsed: Nanoseconds?
    var redisMemory: ProcessMemory?
    /// Absent without a Redis' socket.
    var redisCommands: Int?
    /// The server's commands to Redis by its own count; absent for a peer.
    var redisRoundTrips: Double?
    var ownUsed: Nanoseconds
}

/// Reads them.
struct IdleGauges {
    private let server: ProcessorTime
    private let serverProcesses: [Int32]
    private let redis: ProcessorTime?
    private let redisProcess: Int32?
    private let redisSocket: String?
    /// The address of the server's metrics; `nil` for a peer.
    private let endpoint: Endpoint?

    init(_ options: IdleCommand) throws(Failure) {
        serverProcesses = options.measuring.serverPid
        server = try ProcessorTime(processes: serverProcesses)
        redisProcess = options.redis.redisPid
        redis = try options.redis.processor()
        redisSocket = options.redisSocket
        endpoint = options.peering.peer == nil ? try Endpoint(url: options.server.url) : nil
    }

    func read() throws(Failure) -> IdleReading {
        IdleReading(
            at: .now(), serverUsed: server.used(), serverMemory: try ProcessMemory.read(serverProcesses),
            kernel: .read(), redisUsed: redis?.used(),
            redisMemory: try redisProcess.map { (id) throws(Failure) in try ProcessMemory.read([id]) },
            redisCommands: try redisSocket.map(RedisCommands.processed),
            redisRoundTrips: try endpoint.map { (endpoint) throws(Failure) in
                try ServerMetrics(of: endpoint)["redis_round_trip_seconds_count"]
            },
            ownUsed: ProcessorTime.own())
    }
}
