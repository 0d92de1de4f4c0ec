import Foundation
import PresenceProtocol
import Synchronization

@testable import PresenceCore
@testable import PresenceServer
@testable import WebSockets

/// A call over HTTP to a simulated shard, from its whole head and body to its answer.
final class SimulatedCall {
    private(set) var response: HTTPResponse?
    private let shard: SimulatedShard
    private let socket: SocketID
    private var hasLeft = false
    private static let numbers = Atomic<UInt32>(0)

    var status: Int? { response?.status }
    /// The answer's body, as an object.
    var json: [String: Any] {
        (try? JSONSerialization.jsonObject(with: Data(response?.body ?? []))) as? [String: Any] ?? [:]
    }
    var reason: String? { json["reason"] as? String }

    /// - Parameters:
    ///   - token: As simulated shards read it.
    ///   - address: Where it comes from.
    init(
        _ method: String, _ path: String, _ body: [String: Any] = [:], token: String? = nil,
        from address: String = "127.0.0.1",
        to shard: SimulatedShard
    ) {
        let bytes = Array((try? JSONSerialization.data(withJSONObject: body)) ?? Data())
        var head = "\(method) \(path) HTTP/1.1\r\nHost: x\r\nContent-Length: \(bytes.count)\r\n"
        if let token { head += "Authorization: Bearer \(token)\r\n" }
        var reader = RequestHeadReader()
        guard case .head(let read, _)? = try? Array((head + "\r\n").utf8).withUnsafeBytes({ try reader.read($0) })
        else {
            preconditionFailure("no head: \(head)")
        }
        var request = HTTPRequest(head: read, peer: PeerAddress(host: address)!)
        request.body = bytes
        self.shard = shard
        socket = SocketID(
            index: 1_000_000, generation: Self.numbers.wrappingAdd(1, ordering: .relaxed).newValue)
        let exchange = HTTPExchangeID(socket: socket, number: 1)
        shard.input { [weak self] logic in
            let transfers = Transfers(logic.configuration.limits)
            let api = HTTPAPI(logic: logic, transfers: transfers) { [weak self] _, response, _ in
                self?.response = response
            } acceptsGzip: { _ in
                false
            } isAwaited: { [weak self] _ in
                self?.hasLeft != true
            } settle: { _, _ in
            } resumeBody: { _ in
            } giveUp: { _ in
            } respondMetrics: { _ in
            }
            api.handle(exchange, request)
        }
    }

    /// Its client disconnects, and gets no answer.
    func leave() {
        hasLeft = true
        shard.input { [socket] in $0.jobs.cancel(of: socket) }
    }
}
