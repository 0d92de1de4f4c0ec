/// What the engine keeps of one connection: 32 bytes while nothing is under way.
///
///     vacant → connecting → upgrading → open → closing → vacant
///                  └────────────┴─────────┴──────────────↗
struct Connection {
    enum Phase: UInt8 {
        case vacant
        /// The kernel is at it.
        case connecting
        /// The upgrade request is sent.
        case upgrading
        case open
        /// Our close frame is sent and the scenario has forgotten it.
        case closing
    }

    private(set) var descriptor: Int32 = -1
    /// Counts the lives of this place, so that ids and events of an earlier one find nobody.
    private(set) var generation: UInt32 = 0
    private var storedTag: UInt32 = 0
    var phase = Phase.vacant
    /// Nothing is read from it.
    var isPaused = false
    private var storedServer: UInt16 = 0
    /// The beginning of a frame whose end has not come.
    var inbox: [UInt8] = []
    /// What the socket did not take.
    var outbox: [UInt8] = []

    /// The scenario's own number for it.
    var tag: Int { Int(storedTag) }

    /// Which of the engine's endpoints it goes to.
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
