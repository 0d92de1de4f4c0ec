import CEpoll
import Glibc

/// Clients that make one call each, many at once, on one thread: each from an address of its own in 127.0.0.0/8.
///
/// Each call has its own connection, because people who sign in have none yet. The latency includes its cost.
struct HTTPClients {
    let endpoint: Endpoint
    let sources: SourceAddresses
    /// The run fails after this time without any answer.
    let patience: Nanoseconds

    private struct Client {
        let descriptor: Int32
        let number: Int
        let began: Instant
        var outgoing: [UInt8]
        var incoming: [UInt8] = []
    }

    /// Makes calls number 0, 1, … as `atOnce` allows, and returns when all are answered.
    ///
    /// - Parameters:
    ///   - from: the address of the first call, as a tag of `sources`.
    ///   - call: makes the call of a number.
    ///   - answered: called with each answer and its latency, measured from before dialling.
    func make(
        _ count: Int, atOnce: Int, from: Int = 0, call: (Int) -> HTTPCall,
        answered: (Int, HTTPAnswer, Nanoseconds) -> Void
    ) throws(Failure) {
        // Not poll(2): with thousands of waiting clients, each of its calls would check all of them.
        let epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard epoll >= 0 else { throw Failure("cannot make an epoll: \(Failure.reason())") }
        var clients: [Int32: Client] = [:]
        defer {
            for descriptor in clients.keys { close(descriptor) }
            close(epoll)
        }
        var ready = [epoll_event](repeating: epoll_event(), count: 256)
        var next = 0
        var progress = Instant.now()
        while next < count || !clients.isEmpty {
            while next < count, clients.count < atOnce {
                let client = try dial(next, tag: from + next, call(next))
                clients[client.descriptor] = client
                try watch(client.descriptor, for: EPOLLOUT.rawValue, epoll, EPOLL_CTL_ADD)
                next += 1
            }
            let found = epoll_wait(epoll, &ready, Int32(ready.count), 100)
            for event in ready.prefix(max(0, Int(found))) {
                let descriptor = event.data.fd
                guard let answer = try step(&clients[descriptor]!, epoll) else { continue }
                let client = clients.removeValue(forKey: descriptor)!
                close(descriptor)
                progress = .now()
                answered(client.number, answer, progress - client.began)
            }
            guard Instant.now() - progress < patience else {
                throw Failure("\(formatted(clients.count)) calls were not answered")
            }
        }
    }

    private func watch(
        _ descriptor: Int32, for interest: UInt32, _ epoll: Int32, _ operation: Int32
    ) throws(Failure) {
        var event = epoll_event()
        event.events = interest
        event.data.fd = descriptor
        guard epoll_ctl(epoll, operation, descriptor, &event) == 0 else {
            throw Failure("a connection cannot be watched: \(Failure.reason())")
        }
    }

    private func dial(_ number: Int, tag: Int, _ call: HTTPCall) throws(Failure) -> Client {
        let began = Instant.now()
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(endpoint.family, kind, 0)
        guard descriptor >= 0 else { throw Failure("cannot open a socket: \(Failure.reason())") }
        let status =
            sources.bind(descriptor, for: tag)
            ? endpoint.address.withUnsafeBytes { bytes in
                connect(
                    descriptor, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
            } : -1
        guard status == 0 || errno == EINPROGRESS else {
            defer { close(descriptor) }
            throw Failure("no server answers at \(endpoint.url): \(Failure.reason())")
        }
        return Client(
            descriptor: descriptor, number: number, began: began, outgoing: call.bytes(authority: endpoint.authority))
    }

    /// Sends or reads as much as possible. Returns the answer once it is complete.
    private func step(_ client: inout Client, _ epoll: Int32) throws(Failure) -> HTTPAnswer? {
        guard client.outgoing.isEmpty else {
            let count = send(client.descriptor, client.outgoing, client.outgoing.count, Int32(MSG_NOSIGNAL))
            guard count >= 0 else {
                guard errno == EAGAIN else { throw Failure("a call could not be sent: \(Failure.reason())") }
                return nil
            }
            client.outgoing.removeFirst(count)
            if client.outgoing.isEmpty {
                try watch(client.descriptor, for: EPOLLIN.rawValue, epoll, EPOLL_CTL_MOD)
            }
            return nil
        }
        var bytes = [UInt8](repeating: 0, count: 16_384)
        let count = recv(client.descriptor, &bytes, bytes.count, 0)
        guard count > 0 else {
            if count < 0, errno == EAGAIN { return nil }
            throw Failure("the server closed a connection before it answered")
        }
        client.incoming += bytes[..<count]
        return try HTTPAnswer(client.incoming)
    }
}
