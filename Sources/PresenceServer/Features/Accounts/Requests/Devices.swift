import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// The signed-in devices of a user: `GET /v1/me/sessions`, `DELETE /v1/sessions/{current|all|id}`.
extension Accounts {
    func listDevices(_ call: HTTPCall) async throws(Refusal) -> HTTPResponse {
        let user = try call.owner()
        _ = try await account(of: user)
        let devices = try await devices(of: user, current: call.grant)
        return .json(200, Array(#"{"sessions":"#.utf8) + devices + [UInt8(ascii: "}")])
    }

    /// The list of a user's signed-in devices, as JSON.
    func devices(of user: UserID, current: Identifier?) async throws(Refusal) -> [UInt8] {
        let fields = try await shard.run("HGETALL", shard.partitions.keys(of: user).grants(user)).array ?? []
        let grants = stride(from: 0, to: fields.count - 1, by: 2).compactMap { Grant(fields[$0], fields[$0 + 1]) }
        var json = [UInt8(ascii: "[")]
        for (index, grant) in grants.sorted(by: { $0.created > $1.created }).enumerated() {
            if index > 0 { json.append(UInt8(ascii: ",")) }
            grant.encode(isCurrent: grant.id == current, into: &json)
        }
        return json + [UInt8(ascii: "]")]
    }

    func signOut(_ call: HTTPCall) async throws(Refusal) -> HTTPResponse {
        let user = try call.owner()
        let wanted: Identifier?
        switch call.ids[0].string {
        case "all": wanted = nil
        case "current":
            guard let grant = call.grant else { throw .noAccount }
            wanted = grant
        default: wanted = call.ids[0]
        }
        let keys = shard.partitions.keys(of: user)
        let signOut = ScriptCall(
            .signOut, in: keys, ["grants": keys.grants(user)], ["user": user, "grant": wanted], by: call.writer)
        guard try await shard.run(signOut)[0].int == 1 || wanted == nil else {
            throw Refusal(.notFound, "this user has no such session")
        }
        return .done
    }

    /// The account as its owner sees it: account, version, profile version, BODY.
    func account(of user: UserID) async throws(Refusal) -> ScriptReply {
        try await shard.run(.account(of: user, in: shard.partitions), changes: false).accepted(or: AccountRefusal.self)
    }
}

extension ScriptCall {
    static func account(of user: UserID, in partitions: Partitions) -> ScriptCall {
        let keys = partitions.keys(of: user)
        return ScriptCall(.account, in: keys, ["user": keys.user(user)], ["user": user])
    }
}

/// A device as stored in its grant: 16 bytes of key, then words.
private struct Grant {
    let id: Identifier
    let used: Timestamp
    let created: Timestamp
    let kind: String
    /// An encoded JSON string.
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
