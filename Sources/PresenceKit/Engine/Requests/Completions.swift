/// Calls that wait for the runner to end a connection or clear the cache.
struct Completions: Sendable {
    private struct Wait: Sendable {
        let call: CallID
        /// The attempt whose connection has not ended yet.
        var attempt: Attempt?
        /// The deadline.
        let until: Duration
        /// The clearing that has not completed yet.
        var clearing: Clearing?
    }

    private var waits: [Wait] = []
    private var lastClearing: Clearing = 0

    /// The maximum wait for a goodbye.
    private static let goodbyeTime = Duration.seconds(2)

    /// Requests a clearing of the cache.
    mutating func clearCache(andWrites: Bool) -> Directive {
        lastClearing += 1
        return .clearCache(lastClearing, andWrites: andWrites)
    }

    /// Adds a call that waits for the end of an attempt's connection, if there is one, and for the last clearing.
    mutating func wait(
        _ call: CallID, forEndOf attempt: Attempt?, andClearing clearing: Bool, at uptime: Duration
    ) -> [Directive] {
        waits.append(
            Wait(
                call: call, attempt: attempt, until: uptime + Self.goodbyeTime,
                clearing: clearing ? lastClearing : nil))
        return takeDone()
    }

    mutating func ended(_ attempt: Attempt) -> [Directive] {
        for index in waits.indices where waits[index].attempt == attempt { waits[index].attempt = nil }
        return takeDone()
    }

    mutating func cleared(_ clearing: Clearing) -> [Directive] {
        for index in waits.indices where waits[index].clearing.map({ $0 <= clearing }) == true {
            waits[index].clearing = nil
        }
        return takeDone()
    }

    mutating func expire(at uptime: Duration) -> [Directive] {
        for index in waits.indices where waits[index].until <= uptime { waits[index].attempt = nil }
        return takeDone()
    }

    var nextDeadline: Duration? {
        waits.lazy.filter { $0.attempt != nil }.map(\.until).min()
    }

    private mutating func takeDone() -> [Directive] {
        let done = waits.filter { $0.attempt == nil && $0.clearing == nil }
        waits.removeAll { $0.attempt == nil && $0.clearing == nil }
        return done.map { .answer($0.call, .success(.done)) }
    }
}
