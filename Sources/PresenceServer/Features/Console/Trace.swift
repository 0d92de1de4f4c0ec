import EventLoops
import PresenceProtocol

/// What happens to one user or one conversation, for somebody who looks: the newest entries, read by calls to any shard. One shard
/// hears the events and writes them here; it stops when nobody has asked for a while.
final class Trace: Sendable {
    /// Differs from that of an earlier one of the same subject, whose numbers were others.
    let name: String
    let subject: Identifier
    let isUser: Bool

    /// Entries that are kept, and that are taken in a second: nobody reads faster.
    static let most = 400
    static let perSecond = 200
    /// ms: after so long without a call it is over.
    static let patience: Milliseconds = 10_000

    private struct State {
        var entries: [(number: Int64, json: [UInt8])] = []
        /// Of all that happened, kept or not.
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
    ///   - now: On the monotonic clock, in ms.
    ///   - json: Made only if it is kept.
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

    /// What happened to the way of events rather than to the subject.
    func note(_ kind: StaticString, at time: Timestamp, now: Milliseconds) {
        add(now: now) {
            var json = Array(#"{"kind":""#.utf8)
            JSONWriter.raw(kind, to: &json)
            JSONWriter.raw("\"", to: &json)
            JSONWriter.member("at", time, to: &json)
            JSONWriter.raw("}", to: &json)
            return json
        }
    }

    /// The entries after a number; after 0 if that is of another trace.
    func answer(after: Int64, of name: String?, now: Milliseconds) -> [UInt8] {
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
