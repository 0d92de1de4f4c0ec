import CHiredis
import Glibc

/// A plain connection that waits for each answer: for tools and tests, never for a loop.
///
/// For one thread at a time. After a failure other than `.server` it is of no use any more: an answer that comes late
/// would be taken for the next one's. Closes itself when it is released.
public final class BlockingRedis {
    public let endpoint: RedisEndpoint
    private let timeout: Int64

    /// Owned from `init` to `close()`.
    private var context: UnsafeMutablePointer<redisContext>?

    /// Connects and authenticates.
    ///
    /// - Parameter timeout: milliseconds for connecting, and for each answer.
    /// - Throws: `.unreachable` with the reason, or `.server` if we are refused.
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
        // hiredis leaves its sockets to child processes.
        _ = fcntl(context.pointee.fd, F_SETFD, FD_CLOEXEC)
        for greeting in endpoint.greetings(name: "tool") where greeting != .setName("tool") {
            try write { $0.append(command: greeting.arguments) }
            guard let objection = greeting.objection(to: try receive()) else { continue }
            throw .unreachable(reason: "\(endpoint): \(objection.reason)")
        }
    }

    deinit {
        close()
    }

    public func close() {
        guard let context else { return }
        self.context = nil
        redisFree(context)
    }

    /// Runs a command and waits for its answer.
    @discardableResult
    public func command(_ arguments: [RedisArgument]) throws(RedisFailure) -> RedisValue {
        try write { $0.append(command: arguments) }
        return try Result(try receive()).get()
    }

    /// The same, written as a list: `redis.command("SET", "key", 1)`.
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

    /// Runs a script, and sends it whole if Redis does not know it.
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

    /// Waits for the next thing that Redis sends by itself: after `SUBSCRIBE`, a confirmation or a message.
    ///
    /// - Throws: `.timedOut` when nothing came; the connection is of no use then.
    public func receive() throws(RedisFailure) -> RedisValue {
        guard let context else { throw .disconnected(sent: false) }
        var reply: UnsafeMutableRawPointer?
        guard redisGetReply(context, &reply) == REDIS_OK, let reply else {
            let isLate = context.pointee.err == REDIS_ERR_IO && (errno == EAGAIN || errno == EWOULDBLOCK)
            close()
            throw isLate ? .timedOut(sent: true) : .disconnected(sent: true)
        }
        defer { freeReplyObject(reply) }
        return RedisValue(reply.assumingMemoryBound(to: redisReply.self))
    }

    /// Not through hiredis, whose write(2) would end the process by SIGPIPE when the server is gone.
    private func write(_ encode: (inout [UInt8]) -> Void) throws(RedisFailure) {
        guard let context else { throw .disconnected(sent: false) }
        var bytes: [UInt8] = []
        encode(&bytes)
        var head = 0
        while head < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.send(context.pointee.fd, $0.baseAddress! + head, $0.count - head, CInt(MSG_NOSIGNAL))
            }
            let error = errno
            if count > 0 {
                head += count
            } else if error != EINTR {
                close()
                throw error == EAGAIN ? .timedOut(sent: head > 0) : .disconnected(sent: head > 0)
            }
        }
    }
}
