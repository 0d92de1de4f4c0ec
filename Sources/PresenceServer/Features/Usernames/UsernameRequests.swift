import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// `GET /v1/usernames/{name}`, `GET /v1/usernames/{name}/user`, `PUT` and `DELETE /v1/me/username`.
extension Usernames {
    func show(_ call: HTTPCall) async throws(Refusal) -> HTTPResponse {
        let name = call.texts[0]
        var user: UserID?
        if case .user(let caller) = call.caller { user = caller }
        guard shard.link.isLive else { throw .noStore }
        let obstacle = try await obstacle(to: name, for: user)
        var json = Array(#"{"username":"#.utf8)
        JSONWriter.string(name, to: &json)
        json += Array(#","available":\#(obstacle == nil)"#.utf8)
        if let obstacle { json += Array(#","reason":"\#(obstacle.rawValue)""#.utf8) }
        var response = HTTPResponse.json(200, json + [UInt8(ascii: "}")])
        response.headers.append(("Cache-Control", "no-store"))
        return response
    }

    /// Finds a user by name.
    func showOwner(_ call: HTTPCall) async throws(Refusal) -> HTTPResponse {
        try chargeLookUp(by: call.viewer)
        guard shard.link.isLive else { throw .noStore }
        // That a text is no name is known to everyone.
        guard let name = Username(call.texts[0])?.name else { throw .noOwner }
        let found: (owner: UserID?, person: FoundPerson)
        do throws(RedisFailure) {
            let owner = try await claiming.claim(on: name)?.owner
            // Without an owner the caller's own record is read, which is about as long, and not used.
            let user = owner ?? call.viewer ?? name
            found = (owner, try await shard.policies.find(user, for: call.viewer, with: "held"))
        } catch {
            throw .noStore
        }
        // A claim may be of a former owner, or of one whose record does not have the name yet.
        guard let owner = found.owner, found.person.field.string == name.string, found.person.isAllowed else {
            throw .noOwner
        }
        var json = Array(#"{"user":"#.utf8)
        JSONWriter.string(owner.string, to: &json)
        return .json(200, json + Array(#","profile":"#.utf8) + found.person.profile + [UInt8(ascii: "}")])
    }

    func change(_ call: HTTPCall) async throws(Refusal) -> HTTPResponse {
        let user = try call.owner()
        let text = try call.body { (body) throws(DecodingFailure) in try body.text("username") }
        guard let username = Username(text) else { throw Obstacle.invalid.refusal }
        _ = try await accounts.account(of: user)
        // An owner keeps a name that was reserved later, and may change its case.
        if isReserved(username) {
            let obstacle = try await obstacle(to: username.shown, for: user)
            guard obstacle == .yours else { throw (obstacle ?? .reserved).refusal }
        }
        let reply = try await claiming.want(username.name, as: username.shown, for: user, by: call.writer)
        guard reply[0].string == "HELD" else { throw Obstacle.taken.refusal }
        // The user has the name now. If the account cannot be read, the error must not deny the change.
        let account: ScriptReply
        do throws(RedisFailure) {
            account = try await shard.reply(to: .account(of: user, in: shard.partitions))
        } catch {
            throw .unknownOutcome("the connection to the store was lost after the name was claimed")
        }
        guard let json = try account.accepted(or: AccountRefusal.self)[0].bytes else { throw shard.damaged(user) }
        return .account(json)
    }

    func release(_ call: HTTPCall) async throws(Refusal) -> HTTPResponse {
        let user = try call.owner()
        _ = try await accounts.account(of: user)
        _ = try await claiming.want(nil, as: "", for: user, by: call.writer)
        return .done
    }
}

extension Refusal {
    /// The name has no owner, or one whom the caller may not find.
    fileprivate static var noOwner: Refusal { Refusal(.notFound, "no user is found by this username") }
}
