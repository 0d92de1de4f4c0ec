import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// The devices that a user is signed in on: `GET /v1/me/sessions`, `DELETE /v1/sessions/{current|all|id}`.
extension Accounts {
    func listDevices(_ call: HTTPCall) {
        guard let user = call.ownUser() else { return }
        let key = shard.partitions.keys(of: user).grants(user)
        withAccount(call, user) { [self] _ in
            call.ask(changes: false) {
                shard.store.command(["HGETALL", key], lane: .commands, reply: $0)
            } answered: { value in
                let fields = value.array ?? []
                let grants = stride(from: 0, to: fields.count - 1, by: 2).compactMap {
                    Grant(fields[$0], fields[$0 + 1])
                }
                var json = Array(#"{"sessions":["#.utf8)
                for (index, grant) in grants.sorted(by: { $0.created > $1.created }).enumerated() {
                    if index > 0 { json.append(UInt8(ascii: ",")) }
                    grant.encode(isCurrent: grant.id == call.grant, into: &json)
                }
                call.respond(.json(200, json + Array("]}".utf8)))
            }
        }
    }

    func signOut(_ call: HTTPCall) {
        guard let user = call.ownUser() else { return }
        let wanted: Identifier?
        switch call.ids[0].string {
        case "all": wanted = nil
        case "current":
            guard let grant = call.grant else { return call.refuseNoAccount() }
            wanted = grant
        default: wanted = call.ids[0]
        }
        let keys = shard.partitions.keys(of: user)
        call.write {
            shard.store.run(
                .signOut, keys: [keys.shards, keys.grants(user)] + call.writer.keys,
                arguments: [keys.events, shard.link.incarnation, user.string, wanted?.string ?? ""],
                lane: .commands, reply: $0)
        } succeeded: { value in
            guard wanted == nil || value.array?.last?.int == 1 else {
                return .error(404, .init(code: .notFound, message: "this user has no such session"))
            }
            return .done
        }
    }

    /// Goes on with the account's record as its owner sees it: OK, account, version, profile version, BODY.
    func withAccount(_ call: HTTPCall, _ user: UserID, then: @escaping ([RedisValue]) -> Void) {
        let keys = shard.partitions.keys(of: user)
        call.ask(changes: false) {
            shard.store.run(
                .account, keys: [keys.user(user), keys.account(user)], arguments: [user.string], lane: .commands,
                reply: $0)
        } answered: { value in
            let words = value.array ?? []
            switch words.first?.string {
            case "OK": then(words)
            case "NONE": call.refuseNoAccount()
            default: call.refuseDamaged(user)
            }
        }
    }
}

/// A device as its grant says: 16 bytes of key, then words.
private struct Grant {
    let id: Identifier
    let used: Timestamp
    let created: Timestamp
    let kind: String
    /// As an encoded JSON string.
    let name: String

    init?(_ id: RedisValue, _ value: RedisValue) {
        guard let id = id.string.flatMap({ Identifier($0) }), let bytes = value.bytes, bytes.count > 16 else {
            return nil
        }
        let words = bytes[(bytes.startIndex + 16)...].split(separator: 0x20, maxSplits: 5).map {
            String(decoding: $0, as: UTF8.self)
        }
        guard words.count == 6, let used = Timestamp(words[1]), let created = Timestamp(words[2]) else { return nil }
        self.id = id
        self.used = used
        self.created = created
        kind = words[4]
        name = words[5]
    }

    func encode(isCurrent: Bool, into json: inout [UInt8]) {
        json += Array(#"{"id":"#.utf8)
        JSONWriter.string(id.string, to: &json)
        json += Array(
            (#","kind":"\#(kind)","name":\#(name),"createdAt":\#(created),"lastUsedAt":\#(used),"#
                + #""current":\#(isCurrent)}"#).utf8)
    }
}
