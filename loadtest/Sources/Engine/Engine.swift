import CEpoll
import Glibc

/// Many WebSocket clients on one thread and one epoll: some 60 bytes and a socket a connection, nothing else.
///
/// It knows RFC 6455 and nothing of presence: it dials, upgrades, answers pings and closes, and hands whole text
/// messages to a `Scenario`. Bytes are read into one buffer that all connections share; a connection has memory of
/// its own only while a message of it has come in part, or while the server does not take what is sent.
final class Engine {
    /// What the engine has moved, for reports.
    struct Counters {
        var opened = 0
        var messagesIn = 0
        var bytesIn = 0
        var messagesOut = 0
        var pings = 0
        /// Turns of the loop.
        var turns = 0
    }

    let endpoint: Endpoint
    private(set) var counters = Counters()
    /// Sockets that exist, those included that are being opened or closed.
    private(set) var open = 0
    /// Set by Ctrl-C; the run has then ended before its time.
    private(set) var interrupted = false

    private let upgrade: Upgrade
    private let epoll: Int32
    private var sources: SourceAddresses
    private var writer = FrameWriter()
    private var connections: [Connection] = []
    private var vacant: [UInt32] = []
    /// The beginnings of messages that the server sends in several frames, by slot. Few ever do.
    private var fragments: [UInt32: [UInt8]] = [:]
    /// Owned by the engine, used on its thread only, freed in `deinit`.
    private let scratch: UnsafeMutableRawBufferPointer
    /// Owned and used as `scratch`.
    private let events: UnsafeMutableBufferPointer<epoll_event>
    private var outgoing: [UInt8] = []
    private var isRunning = false
    private var failure: Failure?

    /// - Parameters:
    ///   - connections: how many there will be at most; decides from how many addresses they come.
    ///   - source: the first of these addresses; `nil` is 127.0.0.1, or whatever the system takes if one is enough.
    init(endpoint: Endpoint, connections: Int, source: String? = nil) throws(Failure) {
        try OpenFiles.allow(connections)
        self.endpoint = endpoint
        sources = try SourceAddresses(connections: connections, first: source, endpoint: endpoint)
        upgrade = Upgrade(endpoint: endpoint)
        epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard epoll >= 0 else { throw Failure("cannot make an epoll: \(Failure.reason())") }
        scratch = .allocate(byteCount: FrameHeader.longestPayload + 65_536, alignment: 16)
        events = .allocate(capacity: 512)
        self.connections.reserveCapacity(connections)
        watch(Interrupt.shared.descriptor, EPOLLIN.rawValue, EPOLL_CTL_ADD, data: Self.interruptMark)
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
            counters.turns += 1
            for index in 0..<count where isRunning { handle(events[index], scenario) }
            if isRunning { wake = scenario.tick(now: .now()) }
        }
        if let failure { throw failure }
    }

    /// Ends `run` at once, which then throws `failure` if there is one.
    func stop(_ failure: Failure? = nil) {
        isRunning = false
        self.failure = self.failure ?? failure
    }

    // MARK: - What a scenario does

    /// Begins to open a connection; the scenario hears `opened` or `closed` with `tag`, never before this returns.
    func dial(tag: Int) throws(Failure) -> ConnectionID {
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(endpoint.family, kind, 0)
        guard descriptor >= 0 else { throw Failure("cannot open a socket: \(Failure.reason())") }
        var yes: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
        guard sources.bind(descriptor) else {
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
        connections[Int(slot)].begin(descriptor: descriptor, tag: tag)
        let id = ConnectionID(slot: slot, generation: connections[Int(slot)].generation)
        watch(descriptor, EPOLLIN.rawValue | EPOLLOUT.rawValue, EPOLL_CTL_ADD, data: id.packed)
        open += 1
        return id
    }

    /// Sends one text message. On a connection that is gone or not yet open nothing happens.
    func send(_ message: some Collection<UInt8>, on id: ConnectionID) {
        guard isCurrent(id), connections[Int(id.slot)].phase == .open else { return }
        counters.messagesOut += 1
        transmit(.text, message, on: id)
    }

    /// Says goodbye with a close frame and forgets the connection; the socket goes when the server has answered.
    func close(_ id: ConnectionID, code: UInt16 = 1000) {
        guard isCurrent(id) else { return }
        guard connections[Int(id.slot)].phase == .open else { return abandon(id) }
        transmit(.close, [UInt8(code >> 8), UInt8(code & 0xFF)], on: id)
        // Not closed here: bytes still unread would turn into a reset that could overtake the close frame.
        if isCurrent(id) { connections[Int(id.slot)].phase = .closing }
    }

    /// Drops the line without a word, as a phone in a tunnel does.
    func abandon(_ id: ConnectionID) {
        guard isCurrent(id) else { return }
        release(id)
    }

    /// Says goodbye on every connection and waits for the server's answers, at most `patience`.
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

    // MARK: - The loop

    /// Marks the events of the interrupt's pipe; no connection has it.
    private static let interruptMark = UInt64.max

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
            Interrupt.shared.take()
            interrupted = true
            return stop()
        }
        let id = ConnectionID(packed: event.data.u64)
        guard isCurrent(id) else { return }
        if connections[Int(id.slot)].phase == .connecting {
            finishConnect(id, scenario)
        } else if event.events & EPOLLOUT.rawValue != 0 {
            flush(id)
        }
        if isCurrent(id), event.events & ~EPOLLOUT.rawValue != 0 { receive(id, scenario) }
    }

    private func finishConnect(_ id: ConnectionID, _ scenario: some Scenario) {
        var status: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(connections[Int(id.slot)].descriptor, SOL_SOCKET, SO_ERROR, &status, &size)
        guard status == 0 else {
            return end(id, .refused("no server answers at \(endpoint.url): \(Failure.reason(status))"), scenario)
        }
        connections[Int(id.slot)].phase = .upgrading
        watch(connections[Int(id.slot)].descriptor, EPOLLIN.rawValue, EPOLL_CTL_MOD, data: id.packed)
        write(upgrade.request, on: id)
    }

    private func receive(_ id: ConnectionID, _ scenario: some Scenario) {
        let slot = Int(id.slot)
        let begun = connections[slot].inbox.count
        if begun > 0 {
            connections[slot].inbox.withUnsafeBytes { scratch.copyMemory(from: $0) }
            connections[slot].inbox = []
        }
        let count = recv(connections[slot].descriptor, scratch.baseAddress! + begun, scratch.count - begun, 0)
        let at = Instant.now()
        guard count > 0 else {
            if count < 0, errno == EAGAIN || errno == EINTR {
                connections[slot].inbox = [UInt8](scratch[..<begun])
                return
            }
            return end(id, .lost(count == 0 ? "the server hung up" : Failure.reason()), scenario)
        }
        counters.bytesIn += count
        let bytes = UnsafeRawBufferPointer(rebasing: scratch[..<(begun + count)])
        var used = 0
        if connections[slot].phase == .upgrading {
            switch upgrade.judge(bytes) {
            case .incomplete: break
            case .refused(let why): return end(id, .refused(why), scenario)
            case .accepted(let length):
                used = length
                connections[slot].phase = .open
                counters.opened += 1
                scenario.opened(id, tag: connections[slot].tag)
            }
        }
        while isCurrent(id), connections[slot].phase == .open || connections[slot].phase == .closing {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[used...])
            guard let length = takeFrame(rest, id, at, scenario) else { break }
            used += length
        }
        if isCurrent(id), used < bytes.count { connections[slot].inbox = [UInt8](bytes[used...]) }
    }

    /// Handles the frame that `bytes` begin with and returns its length; `nil` if there is no whole one.
    private func takeFrame(
        _ bytes: UnsafeRawBufferPointer, _ id: ConnectionID, _ at: Instant, _ scenario: some Scenario
    ) -> Int? {
        let header: FrameHeader
        switch FrameHeader.parse(bytes) {
        case .incomplete: return nil
        case .violation(let what):
            end(id, .violation(what), scenario)
            return nil
        case .header(let parsed): header = parsed
        }
        let length = header.length + header.payloadLength
        guard bytes.count >= length else { return nil }
        let payload = UnsafeRawBufferPointer(rebasing: bytes[header.length..<length])
        switch header.opcode {
        case .ping:
            counters.pings += 1
            transmit(.pong, payload, on: id)
        case .pong: break
        case .close: takeClose(payload, id, scenario)
        case .binary: end(id, .violation("a binary message"), scenario)
        case .text, .continuation: takeText(payload, header, id, at, scenario)
        }
        return length
    }

    private func takeText(
        _ payload: UnsafeRawBufferPointer, _ header: FrameHeader, _ id: ConnectionID, _ at: Instant,
        _ scenario: some Scenario
    ) {
        guard (fragments[id.slot] != nil) == (header.opcode == .continuation) else {
            return end(id, .violation("a fragment out of order"), scenario)
        }
        if header.isFinal, header.opcode == .text { return deliver(payload, id, at, scenario) }
        fragments[id.slot, default: []].append(contentsOf: payload)
        guard fragments[id.slot]!.count <= FrameHeader.longestPayload else {
            return end(id, .violation("an endless message"), scenario)
        }
        guard header.isFinal, let whole = fragments.removeValue(forKey: id.slot) else { return }
        whole.withUnsafeBytes { deliver($0, id, at, scenario) }
    }

    private func deliver(
        _ message: UnsafeRawBufferPointer, _ id: ConnectionID, _ at: Instant, _ scenario: some Scenario
    ) {
        counters.messagesIn += 1
        // What still comes on a connection that the scenario has closed is nobody's business.
        guard connections[Int(id.slot)].phase == .open else { return }
        scenario.received(message, on: id, tag: connections[Int(id.slot)].tag, at: at)
    }

    private func takeClose(_ payload: UnsafeRawBufferPointer, _ id: ConnectionID, _ scenario: some Scenario) {
        let code = payload.count >= 2 ? UInt16(payload[0]) << 8 | UInt16(payload[1]) : nil
        let reason = String(decoding: payload.dropFirst(2), as: UTF8.self)
        if connections[Int(id.slot)].phase == .open { transmit(.close, payload.prefix(2), on: id) }
        end(id, .closed(code: code, reason: reason), scenario)
    }

    // MARK: - Sending

    private func transmit(_ opcode: FrameHeader.Opcode, _ payload: some Collection<UInt8>, on id: ConnectionID) {
        outgoing.removeAll(keepingCapacity: true)
        writer.append(opcode, payload, to: &outgoing)
        write(outgoing, on: id)
    }

    /// Writes what the socket takes and keeps the rest. An error is left to the next read, which finds it too.
    private func write(_ bytes: [UInt8], on id: ConnectionID) {
        let slot = Int(id.slot)
        guard connections[slot].outbox.isEmpty else { return connections[slot].outbox.append(contentsOf: bytes) }
        let count = bytes.withUnsafeBytes {
            Glibc.send(connections[slot].descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        guard count < bytes.count, count >= 0 || errno == EAGAIN else { return }
        connections[slot].outbox = [UInt8](bytes[max(0, count)...])
        watch(
            connections[slot].descriptor, EPOLLIN.rawValue | EPOLLOUT.rawValue, EPOLL_CTL_MOD, data: id.packed)
    }

    private func flush(_ id: ConnectionID) {
        let waiting = connections[Int(id.slot)].outbox
        connections[Int(id.slot)].outbox = []
        watch(connections[Int(id.slot)].descriptor, EPOLLIN.rawValue, EPOLL_CTL_MOD, data: id.packed)
        if !waiting.isEmpty { write(waiting, on: id) }
    }

    // MARK: - Connections' lives

    private func isCurrent(_ id: ConnectionID) -> Bool {
        connections[Int(id.slot)].generation == id.generation && connections[Int(id.slot)].phase != .vacant
    }

    private func end(_ id: ConnectionID, _ closing: Closing, _ scenario: some Scenario) {
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

    private func watch(_ descriptor: Int32, _ interest: UInt32, _ operation: Int32, data: UInt64) {
        var event = epoll_event()
        event.events = interest
        event.data.u64 = data
        let status = epoll_ctl(epoll, operation, descriptor, &event)
        precondition(status == 0, "epoll_ctl: \(Failure.reason())")
    }
}

extension ConnectionID {
    /// As epoll carries it.
    fileprivate var packed: UInt64 { UInt64(generation) << 32 | UInt64(slot) }

    fileprivate init(packed: UInt64) {
        self.init(slot: UInt32(truncatingIfNeeded: packed), generation: UInt32(packed >> 32))
    }
}

/// Waits until every connection has ended.
private final class Farewell: Scenario {
    private let engine: Engine
    private let deadline: Instant

    init(engine: Engine, deadline: Instant) {
        self.engine = engine
        self.deadline = deadline
    }

    func opened(_ connection: ConnectionID, tag: Int) {}
    func received(_ message: UnsafeRawBufferPointer, on connection: ConnectionID, tag: Int, at: Instant) {}
    func closed(_ connection: ConnectionID, tag: Int, _ closing: Closing) {}

    func tick(now: Instant) -> Instant? {
        if engine.open == 0 || now >= deadline { engine.stop() }
        return deadline
    }
}
