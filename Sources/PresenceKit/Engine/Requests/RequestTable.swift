import PresenceProtocol

/// What was sent on the present connection and not answered, by the number it was sent with.
struct RequestTable: Sendable {
    private var requests: [Int64: Request] = [:]
    private(set) var lastID: Int64 = 0

    subscript(id: Int64) -> Request? { requests[id] }

    /// Encodes a message, and remembers what its answer is for.
    mutating func send(_ message: Outgoing) -> Directive {
        guard let request = message.request else { return .send(ClientMessage(message.body).encoded()) }
        lastID += 1
        requests[lastID] = request
        return .send(ClientMessage(id: lastID, message.body).encoded())
    }

    /// The answer, or its last part, has come.
    mutating func take(_ id: Int64?) -> Request? {
        id.flatMap { requests.removeValue(forKey: $0) }
    }

    /// Part of the answer has come.
    mutating func update(_ id: Int64, _ request: Request) {
        requests[id] = request
    }

    /// The connection is gone: the requests whose answers will not come, in the order sent.
    mutating func takeAll() -> [Request] {
        defer { requests = [:] }
        return requests.sorted { $0.key < $1.key }.map(\.value)
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
