import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// `GET /v1/usernames/{name}`, `PUT` and `DELETE /v1/me/username`.
extension Usernames {
    func show(_ call: HTTPCall) {
        let name = call.texts[0]
        var user: UserID?
        if case .user(let caller) = call.caller { user = caller }
        guard shard.link.isLive else { return call.refuseUnavailable() }
        obstacle(to: name, for: user) { result in
            guard case .success(let obstacle) = result else { return call.refuseUnavailable() }
            var json = Array(#"{"username":"#.utf8)
            JSONWriter.string(name, to: &json)
            json += Array(#","available":\#(obstacle == nil)"#.utf8)
            if let obstacle { json += Array(#","reason":"\#(obstacle.rawValue)""#.utf8) }
            var response = HTTPResponse.json(200, json + [UInt8(ascii: "}")])
            response.headers.append(("Cache-Control", "no-store"))
            call.respond(response)
        }
    }

    func change(_ call: HTTPCall) throws(DecodingFailure) {
        guard let user = call.ownUser() else { return }
        let text = try RequestObject(json: call.body).text("username")
        guard let username = Username(text) else { return call.refuse(Obstacle.invalid.refusal) }
        guard let accounts = shard.feature(Accounts.self) else { return }
        accounts.withAccount(call, user) { [self] _ in
            // One that became reserved later stays its owner's, who may write it otherwise.
            guard !isReserved(username) else { return changeReserved(call, user, username) }
            want(call, user, username)
        }
    }

    private func changeReserved(_ call: HTTPCall, _ user: UserID, _ username: Username) {
        obstacle(to: username.shown, for: user) { [self] result in
            switch result {
            case .success(.yours): want(call, user, username)
            case .success(let obstacle): call.refuse((obstacle ?? .reserved).refusal)
            case .failure: call.refuseUnavailable()
            }
        }
    }

    private func want(_ call: HTTPCall, _ user: UserID, _ username: Username) {
        call.ask {
            want(username, for: user, by: call.writer, reply: $0)
        } answered: { [self] value in
            guard value.array?.last?.string == "HELD" else { return call.refuse(Obstacle.taken.refusal) }
            answer(call, user)
        }
    }

    /// The name is theirs by now: if the account cannot be read, it must not be said that nothing was changed.
    private func answer(_ call: HTTPCall, _ user: UserID) {
        let keys = shard.partitions.keys(of: user)
        shard.store.run(
            .account, keys: [keys.user(user), keys.account(user)], arguments: [user.string], lane: .commands
        ) { result in
            guard case .success(let value) = result else {
                return call.refuse(
                    503,
                    .init(
                        code: .unavailable, message: "the store was lost when the name had been claimed",
                        retryAfter: 1_000, outcomeUnknown: true))
            }
            let words = value.array ?? []
            guard words.first?.string == "OK" else { return call.refuseNoAccount() }
            guard words.count > 1, let account = words[1].bytes else { return call.refuseDamaged(user) }
            call.respond(.json(200, Array(#"{"account":"#.utf8) + account + [UInt8(ascii: "}")]))
        }
    }

    func giveUp(_ call: HTTPCall) {
        guard let user = call.ownUser() else { return }
        shard.feature(Accounts.self)?.withAccount(call, user) { [self] _ in
            call.ask {
                want(nil, for: user, by: call.writer, reply: $0)
            } answered: { _ in
                call.respond(.done)
            }
        }
    }
}
