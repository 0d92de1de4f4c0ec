import Passwords
import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// The grant of a device that is being signed in, and the key of its tokens.
struct NewGrant {
    let id: Identifier
    let key: [UInt8]
}

extension Accounts {
    func newGrant() -> NewGrant { NewGrant(id: Identifier(shard.randomName())!, key: Sodium.random(16)) }

    /// Signs in after the password was found right.
    ///
    /// - Parameters:
    ///   - held: The hash with which the password was compared. If the account has another one by now, the sign-in
    ///     fails.
    ///   - stronger: A hash of the same password that replaces `held`.
    ///   - guess: The attempt; the earlier failures are cleared.
    func signIn(
        _ user: UserID, held: PasswordHash, stronger: PasswordHash? = nil, on device: SigningDevice, status: Int,
        guess: Guess
    ) async throws(Refusal) -> HTTPResponse {
        let keys = shard.partitions.keys(of: user)
        let grant = newGrant()
        let call = ScriptCall(
            .signIn, in: keys, ["user": keys.user(user), "grants": keys.grants(user), "mail": keys.mail],
            [
                "user": user, "compared": held.bytes.hexadecimal, "stronger": stronger?.bytes.hexadecimal,
                "grant": grant.id, "secret": grant.key.hexadecimal, "kind": device.kind, "name": device.name,
                "idle": shard.configuration[Accounts.idle], "most": shard.configuration[Accounts.mostDevices],
                "verifiedOnly": shard.configuration[Accounts.hideExisting], "device": device.digest,
                "notice": AccountMails.newDevice(device, of: user, self),
            ])
        let reply = try await guess.takenBack { () async throws(Refusal) in try await shard.run(call) }
            .accepted(or: AccountRefusal.self)
        await guess.forget()
        mail.deliver(keys)
        return try tokens(of: user, grant.id, key: grant.key, counter: 1, account: reply[0].bytes, status: status)
    }

    /// The response with session tokens.
    ///
    /// - Parameter isCreated: For a sign-in that may have created the account.
    func tokens(
        of user: UserID, _ grant: Identifier, key: [UInt8], counter: Int64, account: [UInt8]?, status: Int,
        isCreated: Bool? = nil
    ) throws(Refusal) -> HTTPResponse {
        guard let account else { throw shard.damaged(user) }
        guard let access = shard.sign(user, grant, Self.tokenLifetime, shard.clock.redisNow) else {
            throw Refusal(.internal, "this server has no secret to make tokens with")
        }
        let refresh = RefreshToken(user: user, grant: grant, counter: counter).text(key: key)
        var json = Array(#"{"user":"#.utf8)
        JSONWriter.string(user.string, to: &json)
        json += Array(
            #","accessToken":"\#(access)","expiresIn":\#(Self.tokenLifetime),"refreshToken":"\#(refresh)","account":"#
                .utf8)
        json += account
        if let isCreated { json += Array(#","created":\#(isCreated)"#.utf8) }
        var response = HTTPResponse.json(status, json + [UInt8(ascii: "}")])
        // RFC 6749, 5.1.
        response.headers.append(("Cache-Control", "no-store"))
        return response
    }
}
