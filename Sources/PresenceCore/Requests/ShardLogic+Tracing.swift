import PresenceProtocol
import WebSockets

/// What debug logs tell of requests: that they came, what changed, to how many it was written. No ids of users, no texts.
extension ShardLogic {
    /// Handles a client's message; `act` gets what is to be called once its type is known.
    func follow(_ id: Int64?, of connection: Connection, type: JSONValue, _ act: RequestStep) throws(DecodingFailure) {
        guard let trace else { return try act() }
        let name = connection.session?.id ?? trace.name(on: connection.socket) ?? "-"
        let request = name + "/" + (id.map { "\($0)" } ?? "-")
        log("request", ["request": request, "type": type.string ?? "-"], level: .debug)
        try trace.following(request, act)
    }

    /// The session that a connection has from now on.
    func noteSession(of connection: Connection) {
        guard let trace, let session = connection.session else { return }
        log(
            "session", ["session": session.id, "request": trace.name(on: connection.socket) ?? "-"], level: .debug)
    }

    /// The name of the request has come whose event is the partition's next.
    func noteRequest(_ event: StoreEvent, partition: Int) {
        trace?.announce(event.words.first ?? "-", partition: partition)
    }

    /// An event has come.
    func noteChange(_ event: StoreEvent, partition: Int) {
        guard let trace else { return }
        var watching = watchers.person(event.subjectBytes)?.watchers.count ?? 0
        for kind in registry.topicKinds.indices {
            watching += watchers.topic(event.subjectBytes, TopicKindID(rawValue: UInt8(kind + 1)))?.watchers.count ?? 0
        }
        let fields = [
            "request": trace.take(partition: partition) ?? "-", "partition": "\(partition)",
            "event": String(UnicodeScalar(event.kind)), "version": "\(event.version)", "watchers": "\(watching)",
        ]
        log("change", fields, level: .debug)
    }

    /// So many events were written at the end of a turn.
    func noteDeliveries(_ count: Int) {
        guard let requests = trace?.settle(), !requests.isEmpty else { return }
        log("delivered", ["requests": requests.joined(separator: " "), "events": "\(count)"], level: .debug)
    }
}

typealias RequestStep = () throws(DecodingFailure) -> Void
