import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// Backends' calls about who may see a user.
extension VisibilityRequests {
    func registerRoutes(in registry: inout Registry) {
        registry.route(
            "GET", "/v1/users/{id}/visibility", scope: .usersRead,
            answer: { [unowned self] (call) async throws(Refusal) in
                let lists = try await lists(of: call.ids[0])
                var json = Self.visibility(lists.visibility)
                json += Array(#","contacts":"#.utf8)
                JSONWriter.identifiers(lists.contacts, to: &json)
                json += Array(#","blocks":"#.utf8)
                JSONWriter.identifiers(lists.blocks, to: &json)
                return .json(200, json + [0x7D])
            })
        registry.route(
            "PATCH", "/v1/users/{id}/visibility", scope: .usersWrite,
            answer: { [unowned self] (call) async throws(Refusal) in try await set(call) })
        registry.route(
            "PATCH", "/v1/users/{id}/contacts", scope: .usersWrite,
            answer: { [unowned self] in try await change(.contacts, $0) })
        registry.route(
            "PATCH", "/v1/users/{id}/blocks", scope: .usersWrite,
            answer: { [unowned self] in try await change(.blocks, $0) })
    }

    private func set(_ call: HTTPCall) async throws(Refusal) -> HTTPResponse {
        let change = try call.decoded { (_) throws(DecodingFailure) in try VisibilityChange.decode(json: call.body) }
        guard !change.isEmpty else { throw Refusal(.badRequest, "the body has no member of a visibility") }
        var visibility = Self.head(try await self.change(call.ids[0], change)).visibility
        visibility.receipts = change.receipts ?? visibility.receipts
        return .json(200, Self.visibility(visibility) + [0x7D])
    }

    private func change(_ list: PolicyList, _ call: HTTPCall) async throws(Refusal) -> HTTPResponse {
        let limit = call.shard.configuration.limits.subscribeBatch
        let change = try call.decoded { (_) throws(DecodingFailure) in
            try ListChange.decode(json: call.body, limit: limit)
        }
        let reply = try await call.shard.reply {
            call.shard.policies.change(call.ids[0], list: list, most: most(of: list), change, done: $0)
        }.accepted(or: VisibilityRefusal.self)
        changed(list, of: call.ids[0])
        let head = Self.head(reply)
        return .json(200, #"{"\#(list.rawValue)":\#(list == .contacts ? head.contacts : head.blocks)}"#)
    }

    /// `OK, version, presence, lastSeen, contacts, blocks, receipts or '', findable and from, or ''`.
    private static func head(_ reply: ScriptReply) -> PolicyHead {
        let words = reply.rest
        var head = PolicyHead(words.dropLast().compactMap(\.string).joined(separator: " ")) ?? PolicyHead()
        if let findable = words.last { head.setFindable(findable) }
        return head
    }

    /// The object, without its closing brace.
    private static func visibility(_ visibility: Visibility) -> [UInt8] {
        var json = Array(#"{"visibility":"#.utf8)
        visibility.encode(into: &json)
        visibility.encodeConversations(into: &json)
        return json
    }
}
