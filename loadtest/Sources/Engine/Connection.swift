/// The engine's state of one connection: 32 bytes while no bytes wait.
///
///     vacant → connecting → upgrading → open → closing → vacant
///                  └────────────┴─────────┴──────────────↗
struct Connection {
    enum Phase: UInt8 {
        case vacant
        /// The kernel is connecting.
        case connecting
        /// The upgrade request is sent.
        case upgrading
        case open
        /// Our close frame is sent, and the scenario has released the connection.
        case closing
    }

    private(set) var descriptor: Int32 = -1
    /// Counts the uses of this place, so that ids and events of an earlier connection have no effect.
    private(set) var generation: UInt32 = 0
    private var storedTag: UInt32 = 0
    var phase = Phase.vacant
    /// Whether reading is paused.
    var isPaused = false
    private var storedServer: UInt16 = 0
    /// The beginning of an incomplete frame.
    var inbox: [UInt8] = []
    /// Bytes that the socket did not accept.
    var outbox: [UInt8] = []

    /// The scenario's own number for it.
    var tag: Int { Int(storedTag) }

    /// The index of its endpoint in the engine.
    var server: Int { Int(storedServer) }

    mutating func begin(descriptor: Int32, tag: Int, server: Int) {
        self.descriptor = descriptor
        storedTag = UInt32(tag)
        storedServer = UInt16(server)
        phase = .connecting
    }

    mutating func clear() {
        self = Connection(generation: generation &+ 1)
    }

    init() {}

    private init(generation: UInt32) { self.generation = generation }
}
