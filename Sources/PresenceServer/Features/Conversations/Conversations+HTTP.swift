import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// Backends' calls about conversations.
extension Conversations {
    func registerRoutes(in registry: inout Registry) {
        registry.route(
            "PUT", "/v1/conversations/{id}/participants", scope: .conversationsWrite,
            answer: { [unowned self] (call) async throws(Refusal) in try await setParticipants(call) })
        registry.route(
            "DELETE", "/v1/conversations/{id}/participants", scope: .conversationsWrite,
            answer: { [unowned self] (call) async throws(Refusal) in
                try await setParticipants([], of: call.ids[0])
                return .done
            })
        registry.route(
            "GET", "/v1/conversations/{id}", scope: .conversationsRead,
            answer: { [unowned self] (call) async throws(Refusal) in
                guard let record = try await reading.read(call.ids[0]), !record.members.isEmpty else {
                    throw MessageRefusal.nowhere.refusal
                }
                let json = Array(#"{"conversation":"#.utf8) + record.json(for: nil, at: shard.clock.redisNow)
                return .json(200, json + [0x7D])
            })
    }

    private func setParticipants(_ call: HTTPCall) async throws(Refusal) -> HTTPResponse {
        let participants = try call.decoded { (_) throws(DecodingFailure) in try RequestBody.participants(call.body) }
        let most = shard.configuration[Self.mostParticipants]
        guard participants.count >= 2 else {
            throw Refusal(.validationFailed, "a conversation has at least 2 participants", field: "participants")
        }
        guard participants.count <= most else {
            throw Refusal(.tooMany, "at most \(most) participants in one conversation", field: "participants")
        }
        let id = call.ids[0]
        try await setParticipants(participants, of: id)
        var json = Array(#"{"conversation":{"id":"#.utf8)
        JSONWriter.string(id.string, to: &json)
        json += Array(#","participants":"#.utf8)
        JSONWriter.identifiers(participants, to: &json)
        return .json(200, json + Array("}}".utf8))
    }
}
