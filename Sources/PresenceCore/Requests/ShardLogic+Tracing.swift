import PresenceProtocol
import WebSockets

/// Debug logs of requests: their arrival, what changed, the number of deliveries. No ids of users, no texts.
extension ShardLogic {
    /// Runs `act`, which handles a client's message, with that message as the current request.
    func traceRequest(_ id: Int64?, of connection: Connection, type: JSONValue, _ act: RequestStep)
        throws(DecodingFailure)
    {
        guard let trace else { return try act() }
        let name = connection.session?.id ?? trace.name(on: connection.socket) ?? "-"
        let request = name + "/" + (id.map { "\($0)" } ?? "-")
        log("request", ["request": request, "type": type.string ?? "-"], level: .debug)
        try trace.following(request, act)
    }

    /// Logs the session that a connection now has.
    func logSession(of connection: Connection) {
        guard let trace, let session = connection.session else { return }
        log(
            "session", ["session": session.id, "request": trace.name(on: connection.socket) ?? "-"], level: .debug)
    }

    /// A message has arrived that names the request of the partition's next event.
    func announceRequest(_ event: StoreEvent, partition: Int) {
        trace?.announce(event.words.first ?? "-", partition: partition)
    }

    /// An event has arrived.
    func traceChange(_ event: StoreEvent, partition: Int) {
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

    /// Logs the number of events written at the end of a turn.
    func logDeliveries(_ count: Int) {
        guard let requests = trace?.takeArrived(), !requests.isEmpty else { return }
        log("delivered", ["requests": requests.joined(separator: " "), "events": "\(count)"], level: .debug)
    }
}

typealias RequestStep = () throws(DecodingFailure) -> Void
