import CHiredis
import EventLoops

/// A connection for commands that reconnects automatically.
///
/// Commands are pipelined: all commands of a turn are sent in one write at its end, and answers arrive in the order of
/// the commands. The connection never repeats a command. When it breaks, unanswered commands fail, with the information
/// whether they may have run. A command that is submitted while the connection is not ready fails too, so the owner
/// decides what to do after a break before any old command is sent.
///
///     disconnected ─connect()─▶ connecting ─▶ ready        close(): closed, for good
///          ▲ ▲                       │          │
///          │ └── waits, tries again ─┘          │
///          └──────────── break ─────────────────┘
///
/// At a break `state` changes first, then pending commands fail, then `onState` is called. `reply` is called exactly
/// once for each command, never from within `send` or `run`. Callbacks may call any function here, `close()` included.
///
/// Confined to the loop's thread. Its owner closes it before releasing it.
public final class RedisConnection {
    public enum State: Hashable, Sendable {
        case connecting
        case ready
        /// The reason names the server, never the password. The next attempt follows automatically.
        case disconnected(reason: String)
        case closed
    }

    public typealias Reply = (Result<RedisValue, RedisFailure>) -> Void

    /// The present, last or tried server; `nil` while that is not known.
    public var endpoint: RedisEndpoint? { dialler.endpoint }
    public private(set) var state = State.disconnected(reason: "not connected yet")

    /// Called after each change of `state`, but not for `close()`.
    public var onState: (State) -> Void = { _ in }

    /// Called with each answer: the µs since sending began in the turn in which the command was sent.
    public var onRoundTrip: ((_ microseconds: Int64) -> Void)?

    /// The number of commands that wait for their answers.
    public var pending: Int { commands.count + (forgotten?.later.count ?? 0) }

    /// The length of these commands in bytes.
    public var pendingBytes: Int { commands.bytes + (forgotten?.bytes ?? 0) }

    /// The process at the other end (Redis' `run_id`), if it was requested and returned.
    private(set) var process: String?

    /// When the oldest pending command was sent: ms on the loop's clock.
    public var oldestPendingSince: Int64? { commands.oldest?.since }

    /// When this loop last fired very late: ms on its clock. The timeouts of earlier commands restart at this time.
    private var stoodStillUntil = Int64.min / 2
    private let loop: EventLoop
    private let name: String
    let options: RedisOptions
    private let dialler: Dialler
    /// Whether only a master will do: if so, the server's role is checked before the server is used.
    private var wantsMaster = false
    /// Whether the server's process must be identified.
    var isIdentified = false
    private var link: Link?
    private var commands = PendingCommands()
    /// The SHA-1s of the scripts whose text was sent on this link.
    var known: Set<String> = []
    /// Set when Redis has forgotten a script, until the script is sent again.
    var forgotten: ForgottenScripts?
    /// When this turn began to send: µs.
    private var sendingSince: Int64 = 0

    /// Replies to commands that were not accepted, due in the next turn.
    private var refused: [(reply: Reply, failure: RedisFailure)] = []
    private lazy var refusing = LoopTimer(loop) { [unowned self] in failRefused() }
    /// Fires when the oldest command may be too old; an answer does not move it.
    private lazy var watch = LoopTimer(loop) { [unowned self] in checkOldest() }

    /// - Parameter name: what `CLIENT LIST` shows on the server: printable ASCII without spaces.
    public convenience init(
        loop: EventLoop, endpoint: RedisEndpoint, name: String, options: RedisOptions = RedisOptions()
    ) {
        self.init(loop: loop, destination: .fixed(endpoint), name: name, options: options)
    }

    /// A connection that always leads to the current master.
    public convenience init(
        loop: EventLoop, master: RedisMaster, name: String, options: RedisOptions = RedisOptions()
    ) {
        self.init(loop: loop, destination: .sought(master), name: name, options: options)
        wantsMaster = true
    }

    init(loop: EventLoop, destination: Destination, name: String, options: RedisOptions) {
        precondition(name.utf8.allSatisfy { (0x21...0x7E).contains($0) }, "not a client's name: \"\(name)\"")
        self.loop = loop
        self.name = name
        self.options = options
        dialler = Dialler(to: destination, on: loop, options: options)
        dialler.delegate = self
    }

    deinit {
        dialler.stop()
    }

    // MARK: - Up and down

    /// Connects, and again after every break, until `close()`. The first attempt is made in the next turn.
    public func connect() {
        if state != .closed { dialler.start() }
    }

    /// Ends it permanently. Pending commands fail before this returns.
    public func close() {
        guard state != .closed else { return }
        state = .closed
        let unanswered = takeUnanswered()
        dialler.stop()
        watch.cancel()
        for (reply, sent) in unanswered { reply(.failure(.disconnected(sent: sent))) }
        failRefused()
    }

    /// Drops the connection and makes a new one, as after a break. Does nothing without a connection.
    public func reconnect(reason: String) { drop(reason) }

    /// Makes a new connection; `isRefusal`: the server does not do its job, so the next attempt waits longer.
    func reconnect(reason: String, isRefusal: Bool) { drop(reason, isRefusal: isRefusal) }

    private func drop(_ reason: String, isRefusal: Bool = false) {
        if dialler.drop(isRefusal: isRefusal) { ended(reason) { .disconnected(sent: $0) } }
    }

    private func ended(_ reason: String, failure: (_ sent: Bool) -> RedisFailure) {
        let ended = State.disconnected(reason: "\(dialler.place): \(reason)")
        state = ended
        for (reply, sent) in takeUnanswered() { reply(.failure(failure(sent))) }
        // A reply may have closed us.
        if state == ended { onState(ended) }
    }

    /// Empties the queue and releases the link.
    private func takeUnanswered() -> [(reply: Reply, sent: Bool)] {
        let written = link?.written ?? 0
        link = nil
        process = nil
        known = []
        return commands.takeAll().map { ($0.reply, $0.start < written) }
    }

    // MARK: - Commands

    /// Sends a command with the others of this turn.
    public func send(_ arguments: [RedisArgument], reply: @escaping Reply) {
        precondition(!arguments.isEmpty, "a command has a name")
        enqueue(reply) { $0.append(command: arguments) }
    }

    /// Accepts a command whose bytes `encode` appends, or rejects it.
    func enqueue(_ reply: @escaping Reply, encode: (inout [UInt8]) -> Void) {
        guard state == .ready, let link else { return refuse(.disconnected(sent: false), reply) }
        guard commands.count < options.maximumPending else { return refuse(.overloaded, reply) }
        append(to: link, reply, encode)
    }

    private func append(to link: Link, _ reply: @escaping Reply, _ encode: (inout [UInt8]) -> Void) {
        if link.appended == link.written { sendingSince = loop.preciseNow }
        let start = link.appended
        link.append(encode)
        commands.append(
            .init(
                reply: reply, start: start, size: Int(link.appended - start), since: loop.now, sentAt: sendingSince))
        if !watch.isSet { watch.set(after: options.commandTimeout) }
    }

    /// Fails a command that is not sent, in the next turn.
    public func refuse(_ failure: RedisFailure, _ reply: @escaping Reply) {
        refused.append((reply, failure))
        if !refusing.isSet { refusing.set(after: 0) }
    }

    private func failRefused() {
        refusing.cancel()
        let refused = self.refused
        self.refused = []
        for (reply, failure) in refused { reply(.failure(failure)) }
    }

    private func checkOldest() {
        guard let first = commands.oldest else { return }
        let lateness = loop.now - deadline(of: first)
        if lateness >= 0 {
            // If this process was suspended, the answers may have arrived already.
            link?.drain()
        }
        // If the machine was suspended, Redis was as well.
        if lateness > options.commandTimeout / 4 { stoodStillUntil = loop.now }
        guard let oldest = commands.oldest else { return }
        guard loop.now >= deadline(of: oldest) else { return watch.set(at: deadline(of: oldest)) }
        if dialler.drop() {
            ended("no answer within \(options.commandTimeout) ms") { .timedOut(sent: $0) }
        }
    }

    private func deadline(of command: PendingCommands.Command) -> Int64 {
        max(command.since, stoodStillUntil) + options.commandTimeout
    }
}

// MARK: - Reports of the dialler

extension RedisConnection: DiallerDelegate {
    func diallerDidStart() {
        state = .connecting
        onState(.connecting)
    }

    func diallerDidOpen(_ link: Link) {
        self.link = link
        guard let endpoint else { return }
        for greeting in endpoint.greetings(name: name, toMaster: wantsMaster, identified: isIdentified) {
            append(to: link) { [unowned self] answer in
                receive(answer, to: greeting)
            } _: {
                $0.append(command: greeting.arguments)
            }
        }
    }

    private func receive(_ answer: Result<RedisValue, RedisFailure>, to greeting: Greeting) {
        // Otherwise an earlier step or the link has failed, and that is already reported.
        guard state == .connecting else { return }
        let value: RedisValue =
            switch answer {
            case .success(let value): value
            case .failure(.server(_, let line)): .error(line)
            case .failure: .null
            }
        if let objection = greeting.objection(to: value) {
            return drop(objection.reason, isRefusal: objection.isRefusal)
        }
        if greeting == .identify { process = value.string.flatMap { Self.process(in: $0) } }
        guard greeting == .ping else { return }
        dialler.succeeded()
        state = .ready
        onState(.ready)
    }

    /// The `run_id` in the answer of `INFO`: 40 hex digits, drawn at each start of a server.
    private static func process(in info: String) -> String? {
        info.split(whereSeparator: \.isNewline).first { $0.hasPrefix("run_id:") }.map { String($0.dropFirst(7)) }
    }

    func diallerDidRead(_ link: Link) {
        let now = onRoundTrip == nil ? 0 : loop.preciseNow
        while let reply = link.nextReply() {
            let value = RedisValue(reply)
            freeReplyObject(reply)
            guard let command = commands.takeFirst() else {
                // Not an answer but a final message, for example that there are too many clients.
                return drop(value.lastWord)
            }
            onRoundTrip?(now - command.sentAt)
            command.reply(Result(value))
            // The server became a replica: writes now belong to another one.
            if case .error(let line) = value, line.hasPrefix("READONLY ") { drop("it is a replica") }
        }
    }

    func diallerDidEnd(reason: String) {
        ended(reason) { .disconnected(sent: $0) }
    }
}
