import Expectations
import Foundation
import Testing

@testable import PresenceKit

/// On Linux, URLSession has no WebSockets, so no connection can be made here, and none was ever made on a device. These
/// tests only check how an attempt ends.
@Suite struct URLSessionTransportTests {
    /// All events of a transport, up to its end.
    private static func events(of url: String, _ act: (any Transport) -> Void = { _ in }) async -> [TransportEvent] {
        let (stream, events) = AsyncStream.makeStream(of: TransportEvent.self)
        let transport = URLSessionDialler().dial(URL(string: url)!, subprotocol: "presence.v1") { events.yield($0) }
        act(transport)
        var heard: [TransportEvent] = []
        for await event in stream {
            heard.append(event)
            if case .ended = event { break }
        }
        // Calls after the end have no effect.
        transport.send(Array("{}".utf8))
        transport.ping()
        transport.close()
        transport.abort()
        events.finish()
        for await event in stream { heard.append(event) }
        return heard
    }

    @Test(.timeLimit(.minutes(1))) func `an attempt that fails ends once, as lost`() async {
        // No process listens on the discard port.
        let events = await Self.events(of: "ws://127.0.0.1:9/v1/ws")
        expect(events.count, equals: 1)
        guard case .ended(.lost(let why))? = events.first else {
            Issue.record("\(events)")
            return
        }
        expect(!why.isEmpty)
    }

    @Test(.timeLimit(.minutes(1))) func `an aborted attempt ends once and at once`() async {
        let events = await Self.events(of: "ws://127.0.0.1:9/v1/ws") { $0.abort() }
        expect(events.count, equals: 1)
        guard case .ended(.lost)? = events.first else {
            Issue.record("\(events)")
            return
        }
    }
}
