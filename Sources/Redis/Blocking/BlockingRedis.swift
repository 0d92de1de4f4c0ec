import CHiredis
import Glibc

/// A plain connection that waits for each answer: for tools and tests, never for a loop.
///
/// For one thread at a time. After a failure other than `.server` it cannot be used any more: a late answer would be
/// mistaken for the next command's. It closes itself when it is released.
public final class BlockingRedis {
    public let endpoint: RedisEndpoint
    private let timeout: Int64

    /// Owned from `init` to `close()`.
    private var context: UnsafeMutablePointer<redisContext>?
    /// On the context's socket; `nil` without TLS.
    private var tls: TLSSession?

    /// Connects and authenticates.
    ///
    /// - Parameter timeout: milliseconds for connecting, and for each answer.
    /// - Throws: `.unreachable` with the reason, or `.server` if the server rejects the client.
    public init(_ endpoint: RedisEndpoint, timeout: Int64 = 5_000) throws(RedisFailure) {
        self.endpoint = endpoint
        self.timeout = timeout
        let limit = timeval(tv_sec: Int(timeout / 1_000), tv_usec: Int(timeout % 1_000) * 1_000)
        let context =
            switch endpoint.address {
            case .tcp(let host, let port): redisConnectWithTimeout(host, CInt(port), limit)
            case .unix(let path): redisConnectUnixWithTimeout(path, limit)
            }
        guard let context else { throw .unreachable(reason: "\(endpoint): out of memory") }
        self.context = context
        guard context.pointee.err == 0, redisSetTimeout(context, limit) == REDIS_OK else {
            throw .unreachable(reason: "\(endpoint): \(context.errorText)")
        }
        context.pointee.reader.pointee.fn = AnswerObjects.functions
        // hiredis lets child processes inherit its sockets.
        _ = fcntl(context.pointee.fd, F_SETFD, FD_CLOEXEC)
        if endpoint.isSecure { try secure(context.pointee.fd) }
        for greeting in endpoint.greetings(name: "tool") where greeting != .setName("tool") {
            try write { $0.append(command: greeting.arguments) }
            guard let objection = greeting.objection(to: try receive()) else { continue }
            throw .unreachable(reason: "\(endpoint): \(objection.reason)")
        }
    }

    private func secure(_ socket: CInt) throws(RedisFailure) {
        guard case .tcp(let host, _) = endpoint.address, let settings = endpoint.tls,
            let tls = TLSSession(settings, host: host, on: socket)
        else { throw .unreachable(reason: "\(endpoint): TLS could not be set up") }
        let reason: String
        switch tls.handshake() {
        case .done:
            self.tls = tls
            return
        case .wantsRead, .wantsWrite: reason = TLSSession.lateness(timeout)
        case .ended: reason = "the server closed the connection during the TLS handshake"
        case .failed(let problem): reason = problem
        }
        throw .unreachable(reason: "\(endpoint): \(reason)")
    }

    deinit {
        close()
    }

    public func close() {
        guard let context else { return }
        self.context = nil
        tls = nil
        redisFree(context)
    }

    /// Runs a command and waits for its answer.
    @discardableResult
    public func command(_ arguments: [RedisArgument]) throws(RedisFailure) -> RedisValue {
        try write { $0.append(command: arguments) }
        return try Result(try receive()).get()
    }

    /// The same, with variadic words: `redis.command("SET", "key", 1)`.
    @discardableResult
    public func command(_ arguments: RedisArgument...) throws(RedisFailure) -> RedisValue {
        try command(arguments)
    }

    /// Sends all commands at once, then waits for all answers.
    @discardableResult
    public func pipeline(
        _ commands: [[RedisArgument]]
    ) throws(RedisFailure) -> [Result<RedisValue, RedisFailure>] {
        try write { for command in commands { $0.append(command: command) } }
        var answers: [Result<RedisValue, RedisFailure>] = []
        answers.reserveCapacity(commands.count)
        for _ in commands { answers.append(Result(try receive())) }
        return answers
    }

    /// Runs a script, and sends its source if Redis does not know it.
    @discardableResult
    public func run(
        _ script: RedisScript, keys: [RedisArgument], arguments: [RedisArgument] = []
    ) throws(RedisFailure) -> RedisValue {
        try write { $0.append(evaluating: script, keys: keys, arguments: arguments) }
        let result = Result(try receive())
        guard case .failure(.server("NOSCRIPT", _)) = result else { return try result.get() }
        let eval: [RedisArgument] = ["EVAL", .string(script.source), .integer(Int64(keys.count))]
        return try command(eval + keys + arguments)
    }

    /// Waits for the next push from Redis: after `SUBSCRIBE`, a confirmation or a message.
    ///
    /// - Throws: `.timedOut` if none arrives; the connection cannot be used any more then.
    public func receive() throws(RedisFailure) -> RedisValue {
        while true {
            guard let context else { throw .disconnected(sent: false) }
            var reply: UnsafeMutableRawPointer?
            guard redisReaderGetReply(context.pointee.reader, &reply) == REDIS_OK else {
                close()
                throw .disconnected(sent: true)
            }
            if let reply {
                defer { freeReplyObject(reply) }
                return RedisValue(reply.assumingMemoryBound(to: redisReply.self))
            }
            try read(context)
        }
    }

    /// Waits for bytes, and passes them to the reader.
    private func read(_ context: UnsafeMutablePointer<redisContext>) throws(RedisFailure) {
        let outcome = withUnsafeTemporaryAllocation(byteCount: TLSSession.longestRead, alignment: 16) { bytes in
            let outcome = wire(of: context).receive(into: bytes)
            guard case .done(let count) = outcome else { return outcome }
            let isFed = redisReaderFeed(context.pointee.reader, bytes.baseAddress!, count) == REDIS_OK
            return isFed ? outcome : .failed("out of memory for an answer")
        }
        switch outcome {
        case .done: return
        case .wantsRead, .wantsWrite:
            close()
            throw .timedOut(sent: true)
        case .ended, .failed:
            close()
            guard let reason = tlsProblem(outcome) else { throw .disconnected(sent: true) }
            throw .unreachable(reason: reason)
        }
    }

    private func wire(of context: UnsafeMutablePointer<redisContext>) -> Wire {
        Wire(socket: context.pointee.fd, tls: tls)
    }

    /// A server that requires a client certificate reports its absence only after the handshake.
    private func tlsProblem(_ outcome: TLSSession.Outcome) -> String? {
        guard endpoint.isSecure, case .failed(let reason) = outcome else { return nil }
        return "\(endpoint): \(reason)"
    }

    /// Does not use hiredis' write(2), which would end the process by SIGPIPE when the server has disconnected.
    private func write(_ encode: (inout [UInt8]) -> Void) throws(RedisFailure) {
        guard let context else { throw .disconnected(sent: false) }
        var bytes: [UInt8] = []
        encode(&bytes)
        var head = 0
        while head < bytes.count {
            let outcome = bytes.withUnsafeBytes {
                wire(of: context).send(UnsafeRawBufferPointer(rebasing: $0[head...]))
            }
            switch outcome {
            case .done(let count): head += count
            case .wantsRead, .wantsWrite:
                close()
                throw .timedOut(sent: head > 0)
            case .ended, .failed:
                // The server may have sent the reason.
                if tls != nil { try read(context) }
                close()
                throw .disconnected(sent: head > 0)
            }
        }
    }
}
