import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// Backends' calls about messages.
extension Messages {
    func registerRoutes(in registry: inout Registry) {
        registry.route(
            "GET", "/v1/conversations/{id}/messages", scope: .conversationsRead,
            answer: { [unowned self] (call) async throws(Refusal) in try await get(call) })
        registry.route(
            "POST", "/v1/conversations/{id}/messages", scope: .conversationsWrite,
            answer: { [unowned self] in try await send($0) })
        registry.route(
            "DELETE", "/v1/conversations/{id}/messages/{id}", scope: .conversationsWrite,
            answer: { [unowned self] call in
                try respond(call, try await delete(call.ids[1].string, in: call.ids[0], by: nil))
            })
    }

    private func get(_ call: HTTPCall) async throws(Refusal) -> HTTPResponse {
        let wanted = try call.decoded { (_) throws(DecodingFailure) in
            let query = CallQuery(call.request.query)
            return try MessageRequest.page(
                call.ids[0], before: try query.number("before"), limit: try query.number("limit"))
        }
        let page = try await read(wanted, for: nil)
        var json = Array(#"{"conversation":"#.utf8)
        JSONWriter.string(call.ids[0].string, to: &json)
        page.write(StoredMessage.batches(page.messages, bytes: .max)[0], to: &json)
        return .json(200, json + [0x7D])
    }

    /// `{"from":"ana","message":{…}}`.
    private func send(_ call: HTTPCall) async throws(Refusal) -> HTTPResponse {
        let (from, message) = try call.decoded { (bytes) throws(DecodingFailure) in
            var members = try RequestBody.object(bytes)
            var (from, message): (UserID?, MessageRequest.New?)
            try members.forEachMember { (key, value) throws(DecodingFailure) in
                if key.equals("from") { from = try value.checkedIdentifier("from") }
                if key.equals("message") { message = try MessageRequest.new(value) }
            }
            guard let from else { throw DecodingFailure.missing("from") }
            guard let message else { throw DecodingFailure.missing("message") }
            return (from, message)
        }
        return try respond(call, try await send(message, from: from, in: call.ids[0]))
    }

    private func respond(_ call: HTTPCall, _ reply: ScriptReply) throws(Refusal) -> HTTPResponse {
        guard let message = StoredMessage(last: reply) else { throw MessageRefusal.unreadable }
        var json = Array(#"{"conversation":"#.utf8)
        JSONWriter.string(call.ids[0].string, to: &json)
        JSONWriter.key("message", to: &json)
        message.write(to: &json)
        return .json(200, json + [0x7D])
    }
}
