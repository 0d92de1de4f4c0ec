import PresenceProtocol

/// One thing that happens in a history. Steps name people, places and servers by number and do nothing where it is not
/// their time, so any of them can be left out: that is what shrinking needs.
enum Step: Equatable, Sendable {
    /// Time passes, in ms.
    case wait(Int)

    // People. Each has a few places from which they connect; `place` decides the device (see `SimulatedHistory.device`).
    case connect(person: Int, place: Int, shard: Int, activity: Int, status: Int)
    case close(person: Int, place: Int)
    /// The line breaks, and the server notices.
    case lose(person: Int, place: Int)
    /// The device is gone without a word.
    case vanish(person: Int, place: Int)
    /// The line breaks, and after so many ms the client is back, on whichever server.
    case move(person: Int, place: Int, shard: Int, after: Int)
    case activity(person: Int, place: Int, state: Int)
    case status(person: Int, place: Int, status: Int, text: Int, clearAfter: Int)
    case name(person: Int, place: Int, name: Int)
    case typing(person: Int, place: Int, on: Int)
    /// Connects and asks for something in the same packet, before the server can have answered.
    case rush(person: Int, place: Int, shard: Int, what: Int)
    /// Connects, closes at once, and connects again from another place.
    case flash(person: Int, place: Int, shard: Int)
    /// Reads nothing any more, and everything again.
    case readSlowly(person: Int, place: Int)
    case readAgain(person: Int, place: Int)
    case unwatch(person: Int, place: Int, whom: Int)
    case watch(person: Int, place: Int, whom: Int)

    // What administrators and backends do, through one of the servers.
    case disconnect(person: Int, shard: Int)
    case revoke(person: Int, shard: Int)

    // Servers.
    case kill(shard: Int)
    case start(shard: Int)
    case stop(shard: Int)
    case wake(shard: Int)
    /// SIGTERM and a new one; its clients come back to the others when they were told to.
    case roll(shard: Int)

    /// All are killed, and so many ms later there are as many new ones; clients come back within linger from then on.
    case blackout(ms: Int)

    // What lies between a server and Redis.
    case cutCommands(shard: Int)
    case cutLease(shard: Int)
    case cutSubscription(shard: Int)
    case cutAll(shard: Int)
    case holdCommands(shard: Int, ms: Int)
    case holdLease(shard: Int, ms: Int)
    case holdEvents(shard: Int, ms: Int)
    /// The subscription is half open: nothing comes and nothing says so.
    case deafen(shard: Int)

    // Redis.
    case silence(ms: Int)
    /// It is gone for so long, comes back with its data, with none or with what it was told to remember, and on a
    /// host whose clock is so many ms ahead.
    case restart(after: Int, data: Int, clock: Int)
    case remember
    case jump(clock: Int)
    /// It answers the next calls of one script with an error.
    case refuse(script: Int, times: Int)
    /// It answers with an error what it does not do while its disk or memory is full, it is busy, or starting.
    case refuseAll(why: Int, ms: Int)

    /// Everything heals, and what everyone sees is held against the truth.
    case quiet
}

extension Step {
    /// As it is written in Swift.
    var source: String { ".\(self)" }
}
