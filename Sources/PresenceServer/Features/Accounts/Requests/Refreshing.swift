import PresenceCore
import PresenceProtocol
import Redis

/// `POST /v1/sessions/refresh`: reads the device's key, checks the token's MAC by it, and lets the script decide the rest.
extension Accounts {
    func refresh(_ call: HTTPCall) throws(DecodingFailure) {
        let body = try RequestObject(json: call.body)
        guard let (token, mac) = RefreshToken.read(try body.text("refreshToken")) else {
            return refuseExpired(call)
        }
        let keys = shard.partitions.keys(of: token.user)
        call.ask(changes: false) {
            shard.store.command(
                ["HGET", keys.grants(token.user), token.grant.string], lane: .commands, reply: $0)
        } answered: { [self] value in
            guard let key = value.bytes.map({ Array($0.prefix(16)) }), key.count == 16,
                token.isGenuine(mac, key: key)
            else { return refuseExpired(call) }
            refresh(call, token, key: key)
        }
    }

    private func refresh(_ call: HTTPCall, _ token: RefreshToken, key: [UInt8]) {
        let keys = shard.partitions.keys(of: token.user)
        call.ask {
            shard.store.run(
                .refreshGrant, keys: [keys.shards, keys.account(token.user), keys.grants(token.user)],
                arguments: [
                    keys.events, shard.link.incarnation, token.user.string, token.grant.string, String(token.counter),
                    String(shard.configuration[.idle]),
                ], lane: .commands, reply: $0)
        } answered: { [self] value in
            let words = value.array ?? []
            switch words.first?.string {
            case "OK":
                guard words.count > 3, let counter = words[3].int else { return call.refuseDamaged(token.user) }
                answer(call, 200, token.user, token.grant, key: key, counter: counter, account: words[1].bytes)
            case "REUSED":
                reuses.value += 1
                call.refuse(
                    401, .unauthorized, reason: "token_reused",
                    "this refresh token was used before: its device has been signed out")
            case "GONE": refuseExpired(call)
            default: call.refuseDamaged(token.user)
            }
        }
    }

    func refuseExpired(_ call: HTTPCall) {
        call.refuse(401, .unauthorized, reason: "token_expired", "this token is not, or no longer, good for anything")
    }
}
