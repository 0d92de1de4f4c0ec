import EventLoops
import Foundation
import PresenceCore
import PresenceProtocol
import WebSockets

/// The live trace: the events of one user or conversation as this server receives them, without texts. Without a trace, an
/// event costs only one comparison.
extension Console {
    private static let mostTraces = 16

    func trace(_ call: HTTPCall) throws(DecodingFailure) {
        let isUser = Self.member("conversation", in: call) == nil
        if !isUser, Self.member("user", in: call) != nil {
            throw .invalid("user", "must not be combined with conversation")
        }
        let subject = try Self.id(isUser ? "user" : "conversation", in: call)
        let after = Self.member("after", in: call) ?? "0"
        guard let after = Int64(after), after >= 0 else {
            throw .invalid("after", "must be a number of an earlier answer")
        }
        let now = shard.clock.now
        let key = (isUser ? "user " : "conversation ") + subject.string
        let fresh = Trace(shard.randomName(), of: subject, isUser: isUser, now: now)
        let (trace, isNew) = state.traces.withLock { all -> (Trace?, Bool) in
            if let found = all[key] { return (found, false) }
            guard all.count < Self.mostTraces else { return (nil, false) }
            all[key] = fresh
            return (fresh, true)
        }
        guard let trace else {
            return call.refuse(retryAfter: Trace.patience, "others look at too many users and conversations")
        }
        if isNew { beginTrace(trace) }
        call.respond(.json(200, trace.encode(after: after, of: Self.member("trace", in: call), now: now)))
    }

    private func beginTrace(_ trace: Trace) {
        traces.append(trace)
        shard.beginObserving { [unowned self] in observe($0) }
        shard.deadlines.set(endOfTraces, .none, at: shard.clock.now + Trace.patience)
    }

    func endTraces() {
        let now = shard.clock.now
        let over = traces.filter { $0.isOver(now: now) }
        for trace in over {
            let key = (trace.isUser ? "user " : "conversation ") + trace.subject.string
            state.traces.withLock { $0[key] = nil }
        }
        traces.removeAll { trace in over.contains { $0 === trace } }
        guard !traces.isEmpty else { return shard.endObserving() }
        shard.deadlines.set(endOfTraces, .none, at: now + Trace.patience / 2)
    }

    private func observe(_ event: StoreEvent) {
        for trace in traces {
            guard TracedEvent.concerns(event, trace.subject, isUser: trace.isUser) else { continue }
            trace.add(now: shard.clock.now) { TracedEvent.json(event) }
        }
    }
}
