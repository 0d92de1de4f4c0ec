import EventLoops

/// Reports when replicas have a change, by Redis' `WAIT` on a connection of its own.
///
/// `WAIT` blocks its connection until the replicas have answered, or its time is over: on a shared connection, one
/// replica that hangs would block everything. So a change runs on its owner's connection, and is confirmed here after
/// its answer. `WAIT` covers what the server had written when the last command of `WAIT`'s own connection ran. So a
/// `PING` is sent before `WAIT`, after the change's answer.
///
/// change answered ──▶ gathered ──PING, WAIT: one for all──▶ confirmed, or of unknown outcome
///
/// One `WAIT` is pending at a time, for half of `patience`; changes that are answered meanwhile wait for the next
/// `WAIT`. So each change is confirmed within `patience` after its answer, or its outcome is unknown: it is on the
/// master, and possibly on no replica.
///
/// From the change's answer to the replicas' answer, both connections must be to the same process (its `run_id`): after
/// a failover, replicas could confirm a change to a server that never received it.
///
/// Confined to the loop's thread. Its owner closes it before releasing it.
public final class ReplicaWaits {
    /// Called after each change of the connection's state.
    public var onState: (RedisConnection.State) -> Void = { _ in }
    /// Called with the number of replicas that exist, or that have answered, if that number is below `replicas`: for
    /// each `WAIT`, and after connecting.
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
        /// When the change's time is over, on the loop's clock.
        let due: Int64
        let reply: RedisConnection.Reply
    }

    /// Changes for the next `WAIT`, in the order of their answers.
    private var gathered: [Change] = []
    /// Changes of the pending `WAIT`.
    private var asked: [Change] = []
    private lazy var asking = LoopTimer(loop) { [unowned self] in sendWait() }
    private lazy var expiry = LoopTimer(loop) { [unowned self] in expire() }

    /// - Parameters:
    ///   - changes: The connection on which the changes run; neither it nor `connection` is connected yet.
    ///   - connection: Used by this object only.
    ///   - replicas: How many replicas must have a change.
    ///   - patience: The longest time for it, in ms.
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
            // The next connection may be to another server, whose replicas know nothing of these changes.
            if state.isBroken { forget() }
            // The address now leads to another server than when the other connection was made.
            if state == .ready, changes.state == .ready, changes.process != connection.process {
                changes.reconnect(reason: Self.split)
            }
            if state == .ready { count() }
            onState(state)
        }
    }

    public func connect() { connection.connect() }

    public func reconnect(reason: String) { connection.reconnect(reason: reason) }

    /// Ends it. The outcome of unconfirmed changes is unknown.
    public func close() {
        asking.cancel()
        expiry.cancel()
        connection.close()
        forget()
    }

    /// The outcome of the gathered changes is unknown.
    private func forget() {
        let gathered = gathered
        self.gathered = []
        for change in gathered { change.reply(Self.unknown) }
    }

    private static let unknown = Result<RedisValue, RedisFailure>.failure(.timedOut(sent: true))
    private static let split = "the address now leads to another Redis process"

    /// Made before a change is sent: the process that will run it.
    public struct Ticket {
        fileprivate let process: String?
    }

    /// `nil`: replicas cannot be asked now, so the change should not be made.
    public func begin() -> Ticket? {
        guard isReady, changes.state == .ready else { return nil }
        guard changes.process == connection.process else {
            connection.reconnect(reason: Self.split)
            return nil
        }
        return Ticket(process: connection.process)
    }

    /// Calls back when replicas have the change that was answered with `result`; immediately if that is a failure.
    public func confirm(
        _ result: Result<RedisValue, RedisFailure>, _ ticket: Ticket, reply: @escaping RedisConnection.Reply
    ) {
        guard case .success(let value) = result else { return reply(result) }
        guard isReady, connection.process == ticket.process else { return reply(Self.unknown) }
        gathered.append(Change(value: value, due: loop.now + patience, reply: reply))
        if !expiry.isSet { expiry.set(after: patience) }
        // In the next turn, together with all changes that are answered in this one.
        if asked.isEmpty, !asking.isSet { asking.set(after: 0) }
    }

    /// On a new connection, `WAIT` counts the connected replicas, and waits for none.
    private func count() {
        connection.send(["WAIT", .init(replicas), 1]) { [unowned self] in check($0) }
    }

    private func check(_ answer: Result<RedisValue, RedisFailure>) {
        if let count = try? answer.get().int, count < replicas { onFewReplicas(Int(count)) }
    }

    private func sendWait() {
        guard asked.isEmpty, !gathered.isEmpty else { return }
        asked = gathered
        gathered = []
        var isCurrent = false
        connection.send(["PING"]) { if case .success = $0 { isCurrent = true } }
        connection.send(["WAIT", .init(replicas), .init(max(1, patience / 2))]) { [unowned self] answer in
            let changes = asked
            asked = []
            if !gathered.isEmpty { asking.set(after: 0) }
            check(answer)
            let count = isCurrent ? (try? answer.get().int) ?? 0 : 0
            for change in changes { change.reply(count >= replicas ? .success(change.value) : Self.unknown) }
        }
    }

    /// The pending `WAIT` ends by its own time, or with its connection. If Redis does not end it, the changes that wait
    /// behind it end here.
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
