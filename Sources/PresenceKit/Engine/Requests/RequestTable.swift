import PresenceProtocol

/// What was sent on the present connection and not answered, by the number it was sent with.
struct RequestTable: Sendable {
    private var requests: [Int64: Request] = [:]
    private(set) var lastID: Int64 = 0
    /// Those of which one may be what the server could not read, which it says without a number.
    private var suspects: Set<Int64> = []

    subscript(id: Int64) -> Request? { requests[id] }

    /// Encodes a message, and remembers what its answer is for.
    ///
    /// - Parameter limit: the longest message that the server takes; of `connect` it is not known yet.
    /// - Throws: `tooMany` for a longer one: the server would end the connection.
    mutating func send(_ message: Outgoing, limit: Int) throws(PresenceError) -> Directive {
        let id = message.request.map { _ in lastID + 1 }
        let bytes = message.encoded(id: id)
        if case .known(.connect) = message.body {
        } else if bytes.count > limit {
            throw PresenceError(.tooMany, "the request has \(bytes.count) bytes, and the server takes \(limit)")
        }
        if let id {
            lastID = id
            requests[id] = message.request
        }
        return .send(bytes)
    }

    /// The answer, or its last part, has come.
    mutating func take(_ id: Int64?) -> Request? {
        guard let id, let request = requests.removeValue(forKey: id) else { return nil }
        suspects.remove(id)
        return request
    }

    /// The server could not read a message, nor its number: if it was one of these, that one will not be answered.
    mutating func suspectAll() { suspects.formUnion(requests.keys) }

    /// Whether it may be this call's request that the server could not read.
    func isUnread(for call: CallID) -> Bool {
        suspects.contains { id in if case .other(_, call, _) = requests[id] { true } else { false } }
    }

    /// Part of the answer has come.
    mutating func update(_ id: Int64, _ request: Request) {
        requests[id] = request
    }

    /// The connection is gone: the requests whose answers will not come, in the order sent.
    mutating func takeAll() -> [Request] {
        defer { (requests, suspects) = ([:], []) }
        return requests.sorted { $0.key < $1.key }.map(\.value)
    }

    /// Takes the changes that would be made again on the next connection: of the profile and of the status.
    mutating func takeKept() -> [Request] {
        let kept = requests.filter { $0.value.isKept }.sorted { $0.key < $1.key }
        for (id, _) in kept { requests[id] = nil }
        return kept.map(\.value)
    }

    /// Whether a request of this lane is on its way; `isWaiting` tells whether its call still waits.
    func occupies(_ lane: Lane, _ isWaiting: (CallID) -> Bool) -> Bool {
        requests.values.contains { request in
            guard request.lane == lane else { return false }
            return request.call.map(isWaiting) ?? true
        }
    }

    /// A change of these members that was sent after others is made: what is left of those must not be made over it.
    mutating func supersede(_ changes: Wire.ProfileChanges, sentAfter last: Int64) {
        for (id, request) in requests where id < last {
            guard case .updateProfile(var older, let policy, let call) = request else { continue }
            older.remove(membersOf: changes)
            requests[id] = .updateProfile(older, policy, call)
        }
    }

    /// Whether something may be changed that this call waits for.
    func mayChange(for call: CallID) -> Bool {
        requests.values.contains { $0.changesSomething(for: call) }
    }

    /// When the connection is replaced if a probe was not answered.
    var probeDue: Duration? {
        var earliest: Duration?
        for case .probe(let due) in requests.values { earliest = min(earliest ?? due, due) }
        return earliest
    }
}
