import EventLoops
import PresenceProtocol

/// The newest events of one user or conversation, for an operator. One shard receives the events and writes them here; calls to
/// any shard read them. The trace ends after a time without calls.
final class Trace: Sendable {
    /// Each trace of a subject has another name, because the entries of an earlier trace had other numbers.
    let name: String
    let subject: Identifier
    let isUser: Bool

    /// The most entries that are stored, and the most that are recorded in a second: no operator reads faster.
    static let most = 400
    static let perSecond = 200
    /// In ms: the time without a call after which the trace ends.
    static let patience: Milliseconds = 10_000

    private struct State {
        var entries: [(number: Int64, json: [UInt8])] = []
        /// The number of all events, recorded or not.
        var count: Int64 = 0
        var askedAt: Milliseconds
        var second: Milliseconds = 0
        var inSecond = 0
    }
    private let state: Locked<State>

    init(_ name: String, of subject: Identifier, isUser: Bool, now: Milliseconds) {
        self.name = name
        self.subject = subject
        self.isUser = isUser
        state = Locked(State(askedAt: now))
    }

    /// - Parameters:
    ///   - now: The monotonic time in ms.
    ///   - json: Called only if the entry is recorded.
    func add(now: Milliseconds, _ json: () -> [UInt8]) {
        state.withLock { state in
            state.count += 1
            if now / 1_000 != state.second { (state.second, state.inSecond) = (now / 1_000, 0) }
            state.inSecond += 1
            guard state.inSecond <= Self.perSecond else { return }
            state.entries.append((state.count, json()))
            if state.entries.count > Self.most { state.entries.removeFirst(Self.most / 4) }
        }
    }

    /// Records an event of the connection to Redis rather than of the subject.
    func record(_ kind: StaticString, at time: Timestamp, now: Milliseconds) {
        add(now: now) {
            var json = Array(#"{"kind":""#.utf8)
            JSONWriter.raw(kind, to: &json)
            JSONWriter.raw("\"", to: &json)
            JSONWriter.member("at", time, to: &json)
            JSONWriter.raw("}", to: &json)
            return json
        }
    }

    /// The entries after a number; all entries if the number is from another trace.
    func encode(after: Int64, of name: String?, now: Milliseconds) -> [UInt8] {
        let (entries, count) = state.withLock { state in
            state.askedAt = now
            return (state.entries, state.count)
        }
        let after = name == self.name ? max(0, min(after, count)) : 0
        let new = entries.drop { $0.number <= after }
        var json = Array(#"{"trace":"#.utf8)
        JSONWriter.string(self.name, to: &json)
        JSONWriter.member("last", count, to: &json)
        JSONWriter.member("lost", count - after - Int64(new.count), to: &json)
        JSONWriter.key("events", to: &json)
        json.append(UInt8(ascii: "["))
        for (place, entry) in new.enumerated() {
            if place > 0 { json.append(UInt8(ascii: ",")) }
            json += entry.json
        }
        JSONWriter.raw("]}", to: &json)
        return json
    }

    func isOver(now: Milliseconds) -> Bool { state.withLock { now - $0.askedAt >= Self.patience } }
}
