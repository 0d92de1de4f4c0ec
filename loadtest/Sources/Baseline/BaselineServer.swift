import CEpoll
import Glibc

/// The least work that a WebSocket server can do for a publication: one `send()` of bytes framed once to each
/// subscriber.
///
///     epoll → recv → P… → frame it once → send() over a dense array of descriptors
///
/// One thread, without allocations on that path. When a subscriber's socket is full, whole messages are dropped and
/// counted until it has accepted the rest of the current one: other subscribers do not wait for it.
final class BaselineServer {
    let url: String
    private(set) var droppedMessages = 0
    private(set) var droppedBytes = 0

    private let listening: Int32
    private let epoll: Int32
    private let coalesces: Bool
    private static let sendFlags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
    /// By descriptor.
    private var clients: [BaselineClient] = []
    private var subscribers = Subscribers()
    /// Subscribers that must still accept the end of a message.
    private var stalled: Set<Int32> = []
    /// Framed bytes that are not sent yet: one message, or with `coalesces` all of a turn.
    private var frames: [UInt8] = []
    private var messagesInFrames = 0
    private var published = 0
    private var answer: [UInt8] = []
    /// Sockets that accepted only a part of the current bytes, and how much.
    private var short: [(descriptor: Int32, taken: Int)] = []
    /// Owned by the server, used on its thread only, freed in `deinit`; so is `events`.
    private let scratch: UnsafeMutableRawBufferPointer
    private let events: UnsafeMutableBufferPointer<epoll_event>

    init(host: String, port: UInt16, coalesces: Bool = false) throws(Failure) {
        try OpenFiles.allow(0)
        let name = host.contains(":") ? "[\(host)]" : host
        let socket = try ListeningSocket(Endpoint(url: "ws://\(name):\(port)/"))
        listening = socket.descriptor
        url = "ws://\(name):\(socket.port)/"
        epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        self.coalesces = coalesces
        scratch = .allocate(byteCount: FrameHeader.longestPayload + 65_536, alignment: 16)
        events = .allocate(capacity: 512)
        guard epoll >= 0 else { throw Failure("cannot make an epoll: \(Failure.reason())") }
        watch(listening, EPOLLIN.rawValue, EPOLL_CTL_ADD)
    }

    deinit {
        for descriptor in clients.indices where clients[descriptor].isKnown { close(Int32(descriptor)) }
        close(listening)
        close(epoll)
        scratch.deallocate()
        events.deallocate()
    }

    /// Serves until `signal` is readable.
    func run(until signal: Int32) throws(Failure) {
        watch(signal, EPOLLIN.rawValue, EPOLL_CTL_ADD)
        while true {
            let count = epoll_wait(epoll, events.baseAddress!, Int32(events.count), -1)
            precondition(count >= 0 || errno == EINTR, "epoll_wait: \(Failure.reason())")
            for event in events.prefix(max(0, Int(count))) {
                switch event.data.fd {
                case signal: return
                case listening: try accept()
                case let descriptor:
                    if event.events & EPOLLOUT.rawValue != 0 { flush(descriptor) }
                    if event.events & ~EPOLLOUT.rawValue != 0 { receive(descriptor) }
                }
            }
            deliver()
        }
    }

    // MARK: - Coming and going

    private func accept() throws(Failure) {
        // Sockets stay blocking: every call on them has MSG_DONTWAIT, which saves a call here.
        while true {
            let descriptor = Glibc.accept(listening, nil, nil)
            guard descriptor >= 0 else {
                guard errno != EMFILE, errno != ENFILE else { throw Failure("no file is left for a connection") }
                return
            }
            while clients.count <= Int(descriptor) { clients.append(BaselineClient()) }
            clients[Int(descriptor)] = BaselineClient()
            clients[Int(descriptor)].isKnown = true
            watch(descriptor, EPOLLIN.rawValue, EPOLL_CTL_ADD)
        }
    }

    private func end(_ descriptor: Int32) {
        subscribers.remove(descriptor)
        stalled.remove(descriptor)
        clients[Int(descriptor)] = BaselineClient()
        close(descriptor)
    }

    // MARK: - Receiving

    private func receive(_ descriptor: Int32) {
        let begun = clients[Int(descriptor)].inbox
        begun.withUnsafeBytes { scratch.copyMemory(from: $0) }
        let count = recv(
            descriptor, scratch.baseAddress! + begun.count, scratch.count - begun.count, Int32(MSG_DONTWAIT))
        guard count > 0 else {
            if count < 0, errno == EAGAIN || errno == EINTR { return }
            return end(descriptor)
        }
        let bytes = UnsafeMutableRawBufferPointer(rebasing: scratch[..<(begun.count + count)])
        var used = 0
        if !clients[Int(descriptor)].isUpgraded {
            guard let length = upgrade(bytes, descriptor) else { return }
            used = length
        }
        while clients[Int(descriptor)].isUpgraded {
            guard case .frame(let frame) = ClientFrame.parse(bytes, from: used) else {
                if case .violation = ClientFrame.parse(bytes, from: used) { return end(descriptor) }
                break
            }
            used = frame.payload.upperBound
            receive(frame.opcode, UnsafeRawBufferPointer(rebasing: bytes[frame.payload]), from: descriptor)
        }
        if !begun.isEmpty || used < bytes.count, clients[Int(descriptor)].isKnown {
            clients[Int(descriptor)].inbox = [UInt8](bytes[used...])
        }
    }

    /// Answers the upgrade and returns the length of its head; `nil` if it is incomplete or invalid.
    private func upgrade(_ bytes: UnsafeMutableRawBufferPointer, _ descriptor: Int32) -> Int? {
        switch UpgradeRequest.parse(UnsafeRawBufferPointer(bytes)) {
        case .incomplete: return 0
        case .refused:
            end(descriptor)
            return nil
        case .request(let length, let answer):
            clients[Int(descriptor)].isUpgraded = true
            send(answer, to: descriptor)
            return length
        }
    }

    private func receive(_ opcode: FrameHeader.Opcode, _ payload: UnsafeRawBufferPointer, from descriptor: Int32) {
        switch opcode {
        case .text where payload.first == UInt8(ascii: "P"):
            published += 1
            ServerFrame.append(.text, UnsafeRawBufferPointer(rebasing: payload.dropFirst()), to: &frames)
            messagesInFrames += 1
            if !coalesces { deliver() }
            reply(.text, "A\(published)".utf8, to: descriptor)
        case .text where payload.elementsEqual(CollectionOfOne(UInt8(ascii: "S"))):
            clients[Int(descriptor)].isSubscribed = true
            subscribers.insert(descriptor)
            reply(.text, payload, to: descriptor)
        case .ping: reply(.pong, payload, to: descriptor)
        case .pong: break
        case .close:
            reply(.close, payload.prefix(2), to: descriptor)
            end(descriptor)
        default: end(descriptor)
        }
    }

    // MARK: - Sending

    /// Sends the framed bytes to every subscriber, with one call each.
    private func deliver() {
        guard messagesInFrames > 0 else { return }
        subscribers.descriptors.withUnsafeBufferPointer { descriptors in
            frames.withUnsafeBytes { bytes in
                for descriptor in descriptors {
                    let count = Glibc.send(descriptor, bytes.baseAddress, bytes.count, Self.sendFlags)
                    if count != bytes.count { short.append((descriptor, count)) }
                }
            }
        }
        drop(stalled.count * messagesInFrames, bytes: stalled.count * frames.count)
        for (descriptor, taken) in short {
            // The next read finds a broken connection. A full socket has lost the messages, one that is half full must
            // get the rest.
            if taken > 0 {
                stall(descriptor, frames[taken...])
            } else {
                drop(messagesInFrames, bytes: frames.count)
            }
        }
        short.removeAll(keepingCapacity: true)
        frames.removeAll(keepingCapacity: true)
        messagesInFrames = 0
    }

    private func drop(_ messages: Int, bytes: Int) {
        droppedMessages += messages
        droppedBytes += bytes
    }

    private func reply(_ opcode: FrameHeader.Opcode, _ payload: some Collection<UInt8>, to descriptor: Int32) {
        answer.removeAll(keepingCapacity: true)
        ServerFrame.append(opcode, payload, to: &answer)
        send(answer, to: descriptor)
    }

    private func send(_ bytes: [UInt8], to descriptor: Int32) {
        guard clients[Int(descriptor)].tail.isEmpty else { return drop(1, bytes: bytes.count) }
        let count = bytes.withUnsafeBytes {
            Glibc.send(descriptor, $0.baseAddress, $0.count, Self.sendFlags)
        }
        if count > 0, count < bytes.count { stall(descriptor, bytes[count...]) }
    }

    private func stall(_ descriptor: Int32, _ tail: ArraySlice<UInt8>) {
        clients[Int(descriptor)].tail = Array(tail)
        subscribers.remove(descriptor)
        stalled.insert(descriptor)
        watch(descriptor, EPOLLIN.rawValue | EPOLLOUT.rawValue, EPOLL_CTL_MOD)
    }

    private func flush(_ descriptor: Int32) {
        let tail = clients[Int(descriptor)].tail
        clients[Int(descriptor)].tail = []
        stalled.remove(descriptor)
        watch(descriptor, EPOLLIN.rawValue, EPOLL_CTL_MOD)
        send(tail, to: descriptor)
        if clients[Int(descriptor)].tail.isEmpty, clients[Int(descriptor)].isSubscribed {
            subscribers.insert(descriptor)
        }
    }

    private func watch(_ descriptor: Int32, _ interest: UInt32, _ operation: Int32) {
        var event = epoll_event()
        event.events = interest
        event.data.fd = descriptor
        let status = epoll_ctl(epoll, operation, descriptor, &event)
        precondition(status == 0, "epoll_ctl: \(Failure.reason())")
    }
}
