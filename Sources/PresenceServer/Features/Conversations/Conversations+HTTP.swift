import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// What backends ask and say about conversations.
extension Conversations {
    func registerRoutes(in registry: inout Registry) {
        registry.route("PUT", "/v1/conversations/{id}/participants") { [unowned self] (call) throws(DecodingFailure) in
            try setParticipants(call)
        }
        registry.route("DELETE", "/v1/conversations/{id}/participants") { [unowned self] call in
            call.write {
                setParticipants([], of: call.ids[0], done: $0)
            } succeeded: { _ in
                HTTPResponse(status: 204)
            }
        }
        registry.route("GET", "/v1/conversations/{id}") { [unowned self] call in get(call) }
    }

    private func get(_ call: HTTPCall) {
        var found: ConversationRecord?
        call.ask(changes: false) { [self] done in
            reading.read(call.ids[0]) { result in
                if case .success(let record?) = result, !record.members.isEmpty { found = record }
                done(result.map { _ in .array([.status("OK")]) })
            }
        } answered: { [unowned shard] _ in
            guard let found else { return call.refuse(404, .notFound, "there is no such conversation") }
            let json = Array(#"{"conversation":"#.utf8) + found.json(for: nil, at: shard.clock.redisNow)
            call.respond(.json(200, json + [0x7D]))
        }
    }

    private func setParticipants(_ call: HTTPCall) throws(DecodingFailure) {
        let participants = try RequestBody.participants(call.body)
        let most = shard.configuration.limits.participants
        guard participants.count >= 2 else {
            return call.refuse(422, .validationFailed, "a conversation has at least 2 participants", "participants")
        }
        guard participants.count <= most else {
            return call.refuse(422, .tooMany, "at most \(most) participants in one conversation", "participants")
        }
        let id = call.ids[0]
        call.ask {
            setParticipants(participants, of: id, done: $0)
        } answered: { value in
            if let refusal = Self.refusal(of: .success(value)) { return call.respond(.error(422, refusal)) }
            var json = Array(#"{"conversation":{"id":"#.utf8)
            JSONWriter.string(id.string, to: &json)
            json += Array(#","participants":"#.utf8)
            JSONWriter.identifiers(participants, to: &json)
            call.respond(.json(200, json + Array("}}".utf8)))
        }
    }
}
