import PresenceProtocol

/// One step of a history. Steps identify people, places and servers by number and do nothing if they do not apply, so
/// any of them can be left out: shrinking requires that.
enum Step: Equatable, Sendable {
    /// Time passes, in ms.
    case wait(Int)

    // People. Each has a few places from which they connect; `place` decides the device (see `SimulatedHistory.device`).
    case connect(person: Int, place: Int, shard: Int, activity: Int, status: Int)
    case close(person: Int, place: Int)
    /// The line breaks, and the server notices.
    case lose(person: Int, place: Int)
    /// The device disappears without a close.
    case vanish(person: Int, place: Int)
    /// The connection breaks, and after some ms the client returns, possibly on another server.
    case move(person: Int, place: Int, shard: Int, after: Int)
    case activity(person: Int, place: Int, state: Int)
    case status(person: Int, place: Int, status: Int, text: Int, clearAfter: Int)
    case name(person: Int, place: Int, name: Int)
    case typing(person: Int, place: Int, on: Int)
    /// Connects and sends a request in the same packet, before the server can have answered.
    case rush(person: Int, place: Int, shard: Int, what: Int)
    /// Connects, closes at once, and connects again from another place.
    case flash(person: Int, place: Int, shard: Int)
    /// Stops reading, and later reads everything.
    case readSlowly(person: Int, place: Int)
    case readAgain(person: Int, place: Int)
    case unwatch(person: Int, place: Int, whom: Int)
    case watch(person: Int, place: Int, whom: Int)

    // Actions of administrators and backends, through one of the servers.
    case disconnect(person: Int, shard: Int)
    case revoke(person: Int, shard: Int)

    // Servers.
    case kill(shard: Int)
    case start(shard: Int)
    case stop(shard: Int)
    case wake(shard: Int)
    /// SIGTERM and a new server; its clients connect to the others after the delay that it gave them.
    case roll(shard: Int)

    /// All servers are killed, and some ms later there are as many new ones; linger then begins for the clients.
    case blackout(ms: Int)

    // Faults between a server and Redis.
    case cutCommands(shard: Int)
    case cutLease(shard: Int)
    case cutSubscription(shard: Int)
    case cutAll(shard: Int)
    case holdCommands(shard: Int, ms: Int)
    case holdLease(shard: Int, ms: Int)
    case holdEvents(shard: Int, ms: Int)
    /// The subscription is half open: no messages arrive, without a notice.
    case deafen(shard: Int)

    // Redis.
    case silence(ms: Int)
    /// Redis is down for some time, and returns with its data, with none or with the stored ones, on a host whose clock
    /// may be some ms ahead.
    case restart(after: Int, data: Int, clock: Int)
    case remember
    case jump(clock: Int)
    /// It answers the next calls of one script with an error.
    case refuse(script: Int, times: Int)
    /// It rejects commands as with a full disk or memory, while busy, or while starting.
    case refuseAll(why: Int, ms: Int)

    /// Ends all faults, and compares what each client shows with the truth.
    case quiet
}

extension Step {
    /// As Swift source.
    var source: String { ".\(self)" }
}
