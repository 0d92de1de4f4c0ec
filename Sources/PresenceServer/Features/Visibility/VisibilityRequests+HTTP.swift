import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// What backends ask and say about who may see a user.
extension VisibilityRequests {
    func registerRoutes(in registry: inout Registry) {
        registry.route("GET", "/v1/users/{id}/visibility") { [unowned self] in get($0) }
        registry.route("PATCH", "/v1/users/{id}/visibility") { [unowned self] (call) throws(DecodingFailure) in
            try set(call)
        }
        registry.route("PATCH", "/v1/users/{id}/contacts") { [unowned self] (call) throws(DecodingFailure) in
            try change(.contacts, call)
        }
        registry.route("PATCH", "/v1/users/{id}/blocks") { [unowned self] (call) throws(DecodingFailure) in
            try change(.blocks, call)
        }
    }

    private func get(_ call: HTTPCall) {
        let (user, shard) = (call.ids[0], call.shard)
        call.write(changes: false) {
            read(user, done: $0)
        } succeeded: { [unowned shard] value in
            guard let read = PolicyRead(value), !read.head.isDamaged else {
                shard.noteDamage("visibility", of: user)
                return .error(500, .damagedRecord())
            }
            let lists = read.lists
            var json = Self.visibility(lists.visibility)
            json += Array(#","contacts":"#.utf8)
            JSONWriter.identifiers(lists.contacts, to: &json)
            json += Array(#","blocks":"#.utf8)
            JSONWriter.identifiers(lists.blocks, to: &json)
            return .json(200, json + [0x7D])
        }
    }

    private func set(_ call: HTTPCall) throws(DecodingFailure) {
        let change = try VisibilityChange.decode(json: call.body)
        guard !change.isEmpty else { return call.refuse(400, .badRequest, "the body has no member of a visibility") }
        call.write {
            self.change(call.ids[0], change, done: $0)
        } succeeded: { value in
            var visibility = Self.head(value).visibility
            visibility.receipts = change.receipts ?? visibility.receipts
            return .json(200, Self.visibility(visibility) + [0x7D])
        }
    }

    private func change(_ list: PolicyList, _ call: HTTPCall) throws(DecodingFailure) {
        let limit = call.shard.configuration.limits.subscribeBatch
        let change = try ListChange.decode(json: call.body, limit: limit)
        call.write {
            call.shard.policies.change(call.ids[0], list: list, change, done: $0)
        } succeeded: { value in
            let head = Self.head(value)
            return .json(200, #"{"\#(list.rawValue)":\#(list == .contacts ? head.contacts : head.blocks)}"#)
        }
    }

    /// `OK, version, presence, lastSeen, contacts, blocks, receipts or ''`.
    private static func head(_ value: RedisValue) -> PolicyHead {
        let words = value.array?.compactMap(\.string) ?? []
        return PolicyHead(words.dropFirst().joined(separator: " ")) ?? PolicyHead()
    }

    /// The object, still open.
    private static func visibility(_ visibility: Visibility) -> [UInt8] {
        var json = Array(#"{"visibility":"#.utf8)
        visibility.encode(into: &json)
        return json
    }
}
