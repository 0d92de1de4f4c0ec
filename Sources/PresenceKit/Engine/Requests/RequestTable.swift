import PresenceProtocol

/// The requests without a reply on the current connection, by id.
struct RequestTable: Sendable {
    private var requests: [Int64: Request] = [:]
    private(set) var lastID: Int64 = 0
    /// Requests, one of which may have been unreadable to the server: it reports an unreadable message without an id.
    private var suspects: Set<Int64> = []

    subscript(id: Int64) -> Request? { requests[id] }

    var isEmpty: Bool { requests.isEmpty }

    /// Encodes a message and stores its request.
    ///
    /// - Parameter limit: the longest message that the server accepts. Not applied to `connect`, before which it is
    ///   unknown.
    /// - Throws: `tooMany` for a longer message, because the server would close the connection.
    mutating func send(_ message: Outgoing, limit: Int) throws(PresenceError) -> Directive {
        let id = message.request.map { _ in lastID + 1 }
        let bytes = message.encoded(id: id)
        if case .known(.connect) = message.body {
        } else if bytes.count > limit {
            throw PresenceError(.tooMany, "the request has \(bytes.count) bytes, and the server accepts \(limit)")
        }
        if let id {
            lastID = id
            requests[id] = message.request
        }
        return .send(bytes)
    }

    /// The reply, or its last part, has arrived.
    mutating func take(_ id: Int64?) -> Request? {
        guard let id, let request = requests.removeValue(forKey: id) else { return nil }
        suspects.remove(id)
        return request
    }

    /// The server could not read a message, including its id. If the message was one of these requests, there will be
    /// no reply.
    mutating func suspectAll() { suspects.formUnion(requests.keys) }

    /// Whether the unreadable message may be this call's request.
    func isUnread(for call: CallID) -> Bool {
        suspects.contains { id in if case .other(_, call, _) = requests[id] { true } else { false } }
    }

    /// A part of the reply has arrived.
    mutating func update(_ id: Int64, _ request: Request) {
        requests[id] = request
    }

    /// The connection has ended; returns the requests without a reply, in the order in which they were sent.
    mutating func takeAll() -> [Request] {
        defer { (requests, suspects) = ([:], []) }
        return requests.sorted { $0.key < $1.key }.map(\.value)
    }

    /// Takes the changes of profile and status, which would be made again on the next connection.
    mutating func takeKept() -> [Request] {
        let kept = requests.filter { $0.value.isKept }.sorted { $0.key < $1.key }
        for (id, _) in kept { requests[id] = nil }
        return kept.map(\.value)
    }

    /// Whether a request of this lane is in flight; `isWaiting` returns whether its call is still pending.
    func occupies(_ lane: Lane, _ isWaiting: (CallID) -> Bool) -> Bool {
        requests.values.contains { request in
            guard request.lane == lane else { return false }
            return request.call.map(isWaiting) ?? true
        }
    }

    /// A change of these members was stored that was sent after other changes. So the other changes must not overwrite
    /// it when they are repeated.
    mutating func supersede(_ changes: Wire.ProfileChanges, sentAfter last: Int64) {
        for (id, request) in requests where id < last {
            guard case .updateProfile(var older, let policy, let call) = request else { continue }
            older.remove(membersOf: changes)
            requests[id] = .updateProfile(older, policy, call)
        }
    }

    /// Whether a request may make a change that this call waits for.
    func mayChange(for call: CallID) -> Bool {
        requests.values.contains { $0.changesSomething(for: call) }
    }

    /// When to replace the connection if a probe has no reply.
    var probeDue: Duration? {
        var earliest: Duration?
        for case .probe(let due) in requests.values { earliest = min(earliest ?? due, due) }
        return earliest
    }
}
