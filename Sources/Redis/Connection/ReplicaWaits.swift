import EventLoops

/// Tells when replicas have what was changed, by Redis' `WAIT` on a connection of its own.
///
/// `WAIT` stops its connection until the replicas have answered, or its time is over: on a connection that does anything
/// else, one replica that hangs would hold up everything. So a change runs on its owner's connection, and is confirmed
/// here once it was answered. `WAIT` asks for what the server had written when this connection's last command ran, so a
/// `PING` goes before it, after the change's answer.
///
///     change answered ──▶ gathered ──PING, WAIT: one for all──▶ confirmed, or of unknown outcome
///
/// One `WAIT` is under way at a time, for half of `patience`; what is answered meanwhile gathers for the next. So each
/// change is confirmed within `patience` after its answer, or its outcome is unknown: it is kept on the master, perhaps
/// nowhere else.
///
/// Both connections must be to the same process (its `run_id`), from the change's answer to the replicas': after
/// a failover they could confirm a change to a server that never saw it.
///
/// Confined to the loop's thread. Its owner closes it before letting go of it.
public final class ReplicaWaits {
    /// Called after each change of the connection's state.
    public var onState: (RedisConnection.State) -> Void = { _ in }
    /// Called with how many replicas there are, or have answered, when these are fewer than it needs: for each `WAIT`, and when
    /// it has connected.
    public var onFewReplicas: (Int) -> Void = { _ in }
    public var isReady: Bool { connection.state == .ready }
    /// Changes that are not confirmed yet.
    public var pending: Int { gathered.count + asked.count }
    public var endpoint: RedisEndpoint? { connection.endpoint }

    private let loop: EventLoop
    private let changes: RedisConnection
    private let connection: RedisConnection
    private let replicas: Int
    private let patience: Int64

    private struct Change {
        let value: RedisValue
        /// When its time is over, on the loop's clock.
        let due: Int64
        let reply: RedisConnection.Reply
    }

    /// For the next `WAIT`, in the order of their answers.
    private var gathered: [Change] = []
    /// Those of the `WAIT` that is under way.
    private var asked: [Change] = []
    private lazy var asking = LoopTimer(loop) { [unowned self] in ask() }
    private lazy var expiry = LoopTimer(loop) { [unowned self] in expire() }

    /// - Parameters:
    ///   - changes: Where the changes run; neither it nor `connection` is connected yet.
    ///   - connection: Nobody else's.
    ///   - replicas: How many must have a change.
    ///   - patience: For how long they may take, in ms.
    public init(
        loop: EventLoop, of changes: RedisConnection, on connection: RedisConnection, replicas: Int, patience: Int64
    ) {
        self.loop = loop
        self.changes = changes
        self.connection = connection
        self.replicas = replicas
        self.patience = patience
        changes.isIdentified = true
        connection.isIdentified = true
        connection.onState = { [unowned self] state in
            // The next connection may be to another server, which must not be asked for what this one was told.
            if state.isBroken { forget() }
            // An address that leads to another server now than when the other connection was made.
            if state == .ready, changes.state == .ready, changes.process != connection.process {
                changes.reconnect(reason: Self.split)
            }
            if state == .ready { count() }
            onState(state)
        }
    }

    public func connect() { connection.connect() }

    public func reconnect(reason: String) { connection.reconnect(reason: reason) }

    /// Ends it; the outcome of what is not confirmed is unknown.
    public func close() {
        asking.cancel()
        expiry.cancel()
        connection.close()
        forget()
    }

    /// The outcome of what has gathered is unknown.
    private func forget() {
        let gathered = gathered
        self.gathered = []
        for change in gathered { change.reply(Self.unknown) }
    }

    private static let unknown = Result<RedisValue, RedisFailure>.failure(.timedOut(sent: true))
    private static let split = "the address leads to another Redis process now"

    /// Taken before a change is sent: which process it runs at.
    public struct Ticket {
        fileprivate let process: String?
    }

    /// `nil`: replicas cannot be asked now, and the change is better not made.
    public func begin() -> Ticket? {
        guard isReady, changes.state == .ready else { return nil }
        guard changes.process == connection.process else {
            connection.reconnect(reason: Self.split)
            return nil
        }
        return Ticket(process: connection.process)
    }

    /// Answers once replicas have the change that was answered with `result`; at once if that is a failure.
    public func confirm(
        _ result: Result<RedisValue, RedisFailure>, _ ticket: Ticket, reply: @escaping RedisConnection.Reply
    ) {
        guard case .success(let value) = result else { return reply(result) }
        guard isReady, connection.process == ticket.process else { return reply(Self.unknown) }
        gathered.append(Change(value: value, due: loop.now + patience, reply: reply))
        if !expiry.isSet { expiry.set(after: patience) }
        // In the next turn, with all that is answered in this one.
        if asked.isEmpty, !asking.isSet { asking.set(after: 0) }
    }

    /// On a new connection, `WAIT` counts the replicas that are there, and waits for none.
    private func count() {
        connection.send(["WAIT", .init(replicas), 1]) { [unowned self] in note($0) }
    }

    private func note(_ answer: Result<RedisValue, RedisFailure>) {
        if let count = try? answer.get().int, count < replicas { onFewReplicas(Int(count)) }
    }

    private func ask() {
        guard asked.isEmpty, !gathered.isEmpty else { return }
        asked = gathered
        gathered = []
        var isCurrent = false
        connection.send(["PING"]) { if case .success = $0 { isCurrent = true } }
        connection.send(["WAIT", .init(replicas), .init(max(1, patience / 2))]) { [unowned self] answer in
            let changes = asked
            asked = []
            if !gathered.isEmpty { asking.set(after: 0) }
            note(answer)
            let count = isCurrent ? (try? answer.get().int) ?? 0 : 0
            for change in changes { change.reply(count >= replicas ? .success(change.value) : Self.unknown) }
        }
    }

    /// The `WAIT` that is under way ends by its own time, or with its connection. What gathers behind one that Redis does
    /// not end ends here.
    private func expire() {
        let late = gathered.prefix { $0.due <= loop.now }
        gathered.removeFirst(late.count)
        if let next = gathered.first { expiry.set(at: next.due) }
        for change in late { change.reply(Self.unknown) }
    }
}

extension RedisConnection.State {
    fileprivate var isBroken: Bool { if case .disconnected = self { true } else { false } }
}
