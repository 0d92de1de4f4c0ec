import PresenceCore
import PresenceProtocol
import WebSockets

/// Backends' calls about requests between users.
extension ContactRequests {
    func registerRoutes(in registry: inout Registry) {
        registry.route(
            "GET", "/v1/users/{id}/contactRequests", scope: .usersRead,
            answer: { [unowned self] (call) async throws(Refusal) in
                .json(200, Array("{".utf8) + (try await open(to: call.ids[0])).member() + Array("}".utf8))
            })
        registry.route(
            "POST", "/v1/users/{id}/contactRequests", scope: .usersWrite, limits: RouteLimits(bodyBytes: 4_096),
            answer: { [unowned self] (call) async throws(Refusal) in
                let ask = try Self.decoded(call) { (body) throws(DecodingFailure) in try ContactAsk(body) }
                try await self.ask(ask, of: call.ids[0], by: nil)
                return .done
            })
        registry.route(
            "PUT", "/v1/users/{id}/contactRequests/{id}", scope: .usersWrite, limits: RouteLimits(bodyBytes: 4_096),
            answer: { [unowned self] (call) async throws(Refusal) in
                let asker = call.ids[1]
                let answer = try Self.decoded(call) { (body) throws(DecodingFailure) in
                    try ContactAnswer(asker, body)
                }
                try await self.answer(answer, of: call.ids[0], by: nil)
                return .done
            })
    }

    private static func decoded<Value>(
        _ call: HTTPCall, _ read: (RequestObject) throws(DecodingFailure) -> Value
    ) throws(Refusal) -> Value {
        do throws(DecodingFailure) { return try read(RequestObject(json: call.body)) } catch { throw Refusal(error) }
    }
}
