import Foundation
import PresenceProtocol

// Changes on their way to the server, and its replies.
extension WriteLane {
    /// Sends a change that waits for nothing.
    mutating func send(_ body: Body, for call: CallID) -> Sending { send(Part(body: body, calls: [call])) }

    private mutating func send(_ part: Part) -> Sending {
        lastTicket += 1
        sent[lastTicket] = part
        sent[lastTicket]!.owner = part.owner ?? user
        return (lastTicket, part.body)
    }

    /// The changes to send now.
    mutating func take(at uptime: Duration) -> Sending? {
        endPause(at: uptime)
        guard retryAt == nil, sent.isEmpty || !Body.waitsForStorage && !isBehind else { return nil }
        let ready = next.prefix { !Body.waitsForStorage || $0.isUnstorable || isStored($0) }
        let parts = ready.filter { !isForeign($0) }
        guard var whole = parts.first else { return nil }
        for part in parts.dropFirst() { whole.merge(part) }
        next = ready.filter(isForeign) + next[ready.endIndex...]
        return send(whole)
    }

    /// Whether a change in flight is newer than one to be sent. The server would keep the one that arrives later.
    private var isBehind: Bool {
        next.contains { part in sent.values.contains { part.body.left(after: $0.body) != part.body } }
    }

    /// The time of the next attempt may have come.
    mutating func endPause(at uptime: Duration) {
        if let retryAt, retryAt <= uptime { self.retryAt = nil }
    }

    /// The server has stored a change; its calls end once the storage has no older one.
    @discardableResult
    mutating func acknowledge(_ ticket: Ticket) -> Body? {
        guard let part = sent.removeValue(forKey: ticket) else { return nil }
        saved += part.calls.map { ($0, .done) }
        let ids = Set(part.ids).subtracting(needed)
        for index in writes.indices where ids.contains(writes[index].id) { writes[index].accepted = part.body }
        supersede(part.body)
        return part.body
    }

    /// The server rejected a change. The members that it may accept are sent again. Returns the change if there are
    /// none, so that it is dropped.
    mutating func refuse(_ ticket: Ticket, _ error: PresenceError) -> Part? {
        guard var part = sent.removeValue(forKey: ticket) else { return nil }
        if part.isPromised { refusal = error }
        guard let rest = part.body.left(without: error.field) else { return part }
        part.body = rest
        next.insert(part, at: 0)
        return nil
    }

    /// A temporary error: changes are sent at `uptime`.
    mutating func postpone(_ ticket: Ticket? = nil, until uptime: Duration) {
        if let ticket { requeue(ticket) }
        retryAt = uptime
    }

    /// The change is sent again with the next one, without what is older than a change that the server has stored.
    mutating func requeue(_ ticket: Ticket) {
        guard let part = sent.removeValue(forKey: ticket) else { return }
        next.insert(part, at: 0)
        if let accepted { supersede(accepted) }
    }

    /// The connection broke. The next one has a fresh rate limit.
    mutating func lose() {
        for ticket in sent.keys.sorted(by: >) {
            sent[ticket]!.wasSent = true
            requeue(ticket)
        }
        retryAt = nil
    }

    /// There will be no connection. Promised changes wait until the app connects again; all others are dropped. Returns
    /// the parts whose calls must be answered now.
    mutating func close() -> [Part] {
        var parts = next
        next = next.filter(\.isPromised)
        for index in next.indices { next[index].calls = [] }
        for index in parts.indices where parts[index].isPromised { parts[index].wasSent = true }
        return parts
    }

    /// Drops everything; returns the parts whose calls must be answered.
    mutating func forget() -> [Part] {
        let (parts, last) = (next, lastTicket)
        self = WriteLane()
        lastTicket = last
        return parts
    }

    // MARK: Changes outside the lane

    /// The server has stored a change, so older ones must not overwrite it. Their rest is stored again.
    mutating func supersede(_ stored: Body, as id: String = UUID().uuidString) {
        accepted = Self.merged([accepted, stored].compactMap(\.self))
        for index in writes.indices where writes[index].body.left(after: stored) != writes[index].body {
            writes[index].isOutdated = true
        }
        var (kept, mustBeStored): ([Part], Bool) = ([], false)
        for var part in next {
            guard !isForeign(part) else {
                kept.append(part)
                continue
            }
            guard let rest = part.body.left(after: stored) else {
                saved += part.calls.map { ($0, .done) }
                continue
            }
            let isSame = rest == part.body
            if !isSame { (part.body, part.changes) = (rest, [newChange()]) }
            mustBeStored = mustBeStored || !part.ids.isEmpty && (!isSame || isOutdated(part))
            kept.append(part)
        }
        next = kept
        // Their older writes stay until then.
        if mustBeStored { collapse(id, user) }
    }

    /// The server has stored a change that bypassed the lane. Its call ends once the storage has no older change. If the
    /// process died before that, the next process would send the older change and overwrite this one.
    mutating func hold(_ call: CallID, _ reply: Reply) { saved.append((call, reply)) }

    /// The calls that can end.
    mutating func takeSaved() -> [(call: CallID, reply: Reply)] {
        guard !saved.isEmpty, !hasOldWrites else { return [] }
        defer { saved = [] }
        return saved
    }
}
