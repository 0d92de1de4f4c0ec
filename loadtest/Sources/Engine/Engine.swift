import CEpoll
import Glibc

/// Many WebSocket clients on one thread and one epoll: 32 bytes and a socket for each connection.
///
/// It implements RFC 6455 and knows nothing of presence: it dials, upgrades, answers pings and closes, and passes whole
/// text messages to a `Scenario`. All connections share one read buffer. A connection has memory of its own only while
/// it has an incomplete message, or while the server does not accept its bytes.
final class Engine {
    /// The servers to which connections may be opened.
    let endpoints: [Endpoint]
    var endpoint: Endpoint { endpoints[0] }
    /// Existing sockets, including those that are opening or closing.
    private(set) var open = 0
    /// Set by Ctrl-C: the run ended early.
    private(set) var interrupted = false
    /// The number of reads from sockets that returned bytes.
    var reads = 0

    /// One for each endpoint.
    let upgrades: [Upgrade]
    private let epoll: Int32
    private let sources: SourceAddresses
    var writer = FrameWriter()
    var connections: [Connection] = []
    private var vacant: [UInt32] = []
    /// The beginnings of messages in several frames, by slot. Such messages are rare.
    var fragments: [UInt32: [UInt8]] = [:]
    /// Owned by the engine, used on its thread only, freed in `deinit`.
    let scratch: UnsafeMutableRawBufferPointer
    /// Owned and used as `scratch`.
    private let events: UnsafeMutableBufferPointer<epoll_event>
    var outgoing: [UInt8] = []
    private var isRunning = false
    private var failure: Failure?

    /// - Parameters:
    ///   - connections: the maximum number; determines the number of source addresses.
    ///   - source: the first of these addresses; `nil` is 127.0.0.1.
    ///   - subprotocol: requested in upgrades; `nil` requests none.
    ///   - heedsInterrupt: true in only one engine of a process: the engine that handles Ctrl-C takes it from the
    ///     others.
    init(
        endpoints: [Endpoint], connections: Int, source: String? = nil, subprotocol: String? = Upgrade.presence,
        heedsInterrupt: Bool = true
    ) throws(Failure) {
        precondition(!endpoints.isEmpty && endpoints.count <= Int(UInt16.max), "\(endpoints.count) endpoints")
        try OpenFiles.allow(connections)
        self.endpoints = endpoints
        sources = try SourceAddresses(connections: connections, first: source, endpoint: endpoints[0])
        upgrades = endpoints.map { Upgrade(endpoint: $0, subprotocol: subprotocol) }
        epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard epoll >= 0 else { throw Failure("cannot make an epoll: \(Failure.reason())") }
        scratch = .allocate(byteCount: FrameHeader.longestPayload + 65_536, alignment: 16)
        events = .allocate(capacity: 512)
        self.connections.reserveCapacity(connections)
        if heedsInterrupt {
            watch(Interrupt.shared.descriptor, EPOLLIN.rawValue, EPOLL_CTL_ADD, data: Self.interruptMark)
        }
    }

    convenience init(endpoint: Endpoint, connections: Int, source: String? = nil) throws(Failure) {
        try self.init(endpoints: [endpoint], connections: connections, source: source)
    }

    deinit {
        for connection in connections where connection.phase != .vacant { Glibc.close(connection.descriptor) }
        Glibc.close(epoll)
        scratch.deallocate()
        events.deallocate()
    }

    /// Runs `scenario` until it calls `stop`, or until Ctrl-C.
    func run(_ scenario: some Scenario) throws(Failure) {
        isRunning = true
        failure = nil
        var wake = scenario.tick(now: .now())
        while isRunning {
            let count = wait(until: wake)
            for index in 0..<count where isRunning { handle(events[index], scenario) }
            if isRunning { wake = scenario.tick(now: .now()) }
        }
        if let failure { throw failure }
    }

    /// Ends `run` immediately; it then throws `failure` if there is one.
    func stop(_ failure: Failure? = nil) {
        isRunning = false
        self.failure = self.failure ?? failure
    }

    // MARK: - Actions of a scenario

    /// Starts to open a connection. The scenario is called with `opened` or `closed` and `tag`, never before this
    /// returns.
    /// - Parameters:
    ///   - server: the index of the endpoint.
    ///   - receiveBuffer: its SO_RCVBUF, which the kernel doubles; `nil` lets the kernel choose and grow it.
    func dial(tag: Int, server: Int = 0, receiveBuffer: Int32? = nil) throws(Failure) -> ConnectionID {
        let endpoint = endpoints[server]
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(endpoint.family, kind, 0)
        guard descriptor >= 0 else { throw Failure("cannot open a socket: \(Failure.reason())") }
        var yes: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
        if var receiveBuffer {
            // Before the connect, because the window that the server is offered depends on it.
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, socklen_t(MemoryLayout<Int32>.size))
        }
        guard sources.bind(descriptor, for: tag) else {
            defer { Glibc.close(descriptor) }
            throw Failure("cannot connect from another address of 127.0.0.0/8: \(Failure.reason())")
        }
        let status = endpoint.address.withUnsafeBytes { bytes in
            connect(descriptor, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
        }
        guard status == 0 || errno == EINPROGRESS else {
            defer { Glibc.close(descriptor) }
            throw Failure("no server answers at \(endpoint.url): \(Failure.reason())")
        }
        let slot = vacant.popLast() ?? UInt32(connections.count)
        if slot == connections.count { connections.append(Connection()) }
        connections[Int(slot)].begin(descriptor: descriptor, tag: tag, server: server)
        let id = ConnectionID(slot: slot, generation: connections[Int(slot)].generation)
        watch(descriptor, EPOLLIN.rawValue | EPOLLOUT.rawValue, EPOLL_CTL_ADD, data: id.packed)
        open += 1
        return id
    }

    /// Sends one text message. Does nothing on a connection that is closed or not yet open.
    func send(_ message: some Collection<UInt8>, on id: ConnectionID) {
        guard isCurrent(id), connections[Int(id.slot)].phase == .open else { return }
        transmit(.text, message, on: id)
    }

    /// Sends several at once, in one packet if they fit.
    func send(_ messages: [[UInt8]], on id: ConnectionID) {
        guard isCurrent(id), connections[Int(id.slot)].phase == .open, !messages.isEmpty else { return }
        transmit(.text, messages, on: id)
    }

    /// Sends a close frame and releases the connection; the socket is closed when the server has answered.
    func close(_ id: ConnectionID, code: UInt16 = 1000) {
        guard isCurrent(id) else { return }
        guard connections[Int(id.slot)].phase == .open else { return abandon(id) }
        transmit(.close, [UInt8(code >> 8), UInt8(code & 0xFF)], on: id)
        // The socket stays open: unread bytes would cause a reset that could overtake the close frame.
        if isCurrent(id) { connections[Int(id.slot)].phase = .closing }
    }

    /// Stops reading until `resume`, like a client that has stopped reading; input waits in the kernel.
    func pause(_ id: ConnectionID) {
        guard isCurrent(id) else { return }
        connections[Int(id.slot)].isPaused = true
        watch(connections[Int(id.slot)].descriptor, 0, EPOLL_CTL_MOD, data: id.packed)
    }

    func resume(_ id: ConnectionID) {
        guard isCurrent(id) else { return }
        connections[Int(id.slot)].isPaused = false
        watch(connections[Int(id.slot)].descriptor, EPOLLIN.rawValue, EPOLL_CTL_MOD, data: id.packed)
    }

    /// Drops the connection without a close frame, like a phone in a tunnel.
    func abandon(_ id: ConnectionID) {
        guard isCurrent(id) else { return }
        release(id)
    }

    /// Sends a close frame on every connection and waits for the server's answers, at most `patience`.
    func closeAll(patience: Nanoseconds = .seconds(5)) {
        for slot in connections.indices where connections[slot].phase != .vacant {
            close(ConnectionID(slot: UInt32(slot), generation: connections[slot].generation))
        }
        let deadline = Instant.now() + patience
        try? run(Farewell(engine: self, deadline: deadline))
        for slot in connections.indices where connections[slot].phase != .vacant {
            abandon(ConnectionID(slot: UInt32(slot), generation: connections[slot].generation))
        }
    }

    /// Calls the scenario when this descriptor of its own is readable, or has ended. Returns whether that is possible:
    /// not for files and /dev/null.
    func attach(_ descriptor: Int32) -> Bool {
        var event = epoll_event()
        event.events = EPOLLIN.rawValue
        event.data.u64 = ConnectionID(slot: Self.attachedSlot, generation: UInt32(descriptor)).packed
        return epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0
    }

    func detach(_ descriptor: Int32) { epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, nil) }

    // MARK: - The loop

    /// Marks the events of the interrupt's pipe; no connection has this value.
    private static let interruptMark = UInt64.max
    /// Marks events of attached descriptors, which have the place of a connection's generation.
    private static let attachedSlot = UInt32.max

    private func wait(until wake: Instant?) -> Int {
        let count: Int32
        if let wake {
            let left = max(0, wake - .now())
            var time = timespec(tv_sec: Int(left / 1_000_000_000), tv_nsec: Int(left % 1_000_000_000))
            count = epoll_pwait2(epoll, events.baseAddress!, Int32(events.count), &time, nil)
        } else {
            count = epoll_wait(epoll, events.baseAddress!, Int32(events.count), -1)
        }
        precondition(count >= 0 || errno == EINTR, "epoll_wait: \(Failure.reason())")
        return max(0, Int(count))
    }

    private func handle(_ event: epoll_event, _ scenario: some Scenario) {
        guard event.data.u64 != Self.interruptMark else {
            Interrupt.shared.drain()
            interrupted = true
            return stop()
        }
        let id = ConnectionID(packed: event.data.u64)
        guard id.slot != Self.attachedSlot else { return scenario.readable(Int32(id.generation)) }
        guard isCurrent(id) else { return }
        if connections[Int(id.slot)].phase == .connecting {
            finishConnect(id, scenario)
        } else if event.events & EPOLLOUT.rawValue != 0 {
            flush(id)
        }
        if isCurrent(id), event.events & ~EPOLLOUT.rawValue != 0 { receive(id, scenario) }
    }

    // MARK: - States of connections

    func isCurrent(_ id: ConnectionID) -> Bool {
        connections[Int(id.slot)].generation == id.generation && connections[Int(id.slot)].phase != .vacant
    }

    func end(_ id: ConnectionID, _ closing: Closing, _ scenario: some Scenario) {
        let tag = connections[Int(id.slot)].tag
        let wasOurs = connections[Int(id.slot)].phase == .closing
        release(id)
        if !wasOurs { scenario.closed(id, tag: tag, closing) }
    }

    private func release(_ id: ConnectionID) {
        Glibc.close(connections[Int(id.slot)].descriptor)
        connections[Int(id.slot)].clear()
        fragments[id.slot] = nil
        vacant.append(id.slot)
        open -= 1
    }

    func watch(_ descriptor: Int32, _ interest: UInt32, _ operation: Int32, data: UInt64) {
        var event = epoll_event()
        event.events = interest
        event.data.u64 = data
        let status = epoll_ctl(epoll, operation, descriptor, &event)
        precondition(status == 0, "epoll_ctl: \(Failure.reason())")
    }
}

extension ConnectionID {
    /// The form of an id in epoll.
    var packed: UInt64 { UInt64(generation) << 32 | UInt64(slot) }

    init(packed: UInt64) {
        self.init(slot: UInt32(truncatingIfNeeded: packed), generation: UInt32(packed >> 32))
    }
}
