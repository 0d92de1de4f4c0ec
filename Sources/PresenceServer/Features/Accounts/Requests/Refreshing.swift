import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// `POST /v1/sessions/refresh`: reads the device's key, checks the token's MAC with it, and leaves the rest to the script.
extension Accounts {
    func refresh(_ call: HTTPCall) async throws(Refusal) -> HTTPResponse {
        let text = try call.body { (body) throws(DecodingFailure) in try body.text("refreshToken") }
        guard let (token, mac) = RefreshToken.read(text) else { throw .expired }
        let (user, keys) = (token.user, shard.partitions.keys(of: token.user))
        let grant = try await shard.run("HGET", keys.grants(user), token.grant.string)
        guard let key = grant.bytes.map({ Array($0.prefix(16)) }), key.count == 16, token.isGenuine(mac, key: key)
        else { throw .expired }
        let reply = try await shard.run(
            ScriptCall(
                .refreshGrant, in: keys, ["user": keys.user(user), "grants": keys.grants(user), "guests": keys.guests],
                [
                    "user": user, "grant": token.grant, "shown": token.counter,
                    "idle": shard.configuration[Accounts.idle],
                ]))
        if reply.word == "REUSED" { reuses.value += 1 }
        let account = try reply.accepted(or: AccountRefusal.self)
        guard let counter = account[2].int else { throw shard.damaged(user) }
        return try tokens(of: user, token.grant, key: key, counter: counter, account: account[0].bytes, status: 200)
    }
}
