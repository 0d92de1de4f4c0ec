import Passwords
import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// A device that is being signed in: its grant, and the tokens that go with it.
struct NewGrant {
    let id: Identifier
    let key: [UInt8]
    let device: SigningDevice

    /// What the scripts take of it.
    var arguments: [String] { [id.string, key.hexadecimal, device.kind, device.name] }
}

extension Accounts {
    func newGrant(for device: SigningDevice) -> NewGrant {
        NewGrant(id: Identifier(shard.randomName())!, key: Sodium.random(16), device: device)
    }

    /// Signs in, once the password was found right, and answers with the tokens.
    ///
    /// - Parameters:
    ///   - held: The hash that it was compared with: if the account has another by now, nobody is signed in.
    ///   - stronger: What is kept instead.
    ///   - guess: By which it was tried; the failures before it are forgotten.
    func signIn(
        _ call: HTTPCall, as user: UserID, held: PasswordHash, stronger: PasswordHash?, on device: SigningDevice,
        status: Int, guess: Guess
    ) {
        let keys = shard.partitions.keys(of: user)
        let grant = newGrant(for: device)
        call.ask {
            shard.store.run(
                .signIn, keys: [keys.shards, keys.floor, keys.account(user), keys.grants(user)],
                arguments: [
                    keys.events, shard.link.incarnation, user.string, held.bytes.hexadecimal,
                    stronger?.bytes.hexadecimal ?? "",
                ] + grant.arguments + [
                    String(shard.configuration[.idle]), String(shard.configuration[.mostDevices]),
                    shard.configuration.isOn(.hideExisting) ? "1" : "0",
                ], lane: .commands, reply: $0)
        } refused: {
            guess.takeBack()
        } answered: { [self] value in
            let words = value.array ?? []
            switch words.first?.string {
            case "OK":
                guess.forget { [self] in
                    answer(call, status, user, grant.id, key: grant.key, counter: 1, account: words[1].bytes)
                }
            case "CHANGED": call.refuseCredentials()
            default: call.refuseDamaged(user)
            }
        }
    }

    /// Answers with session tokens.
    func answer(
        _ call: HTTPCall, _ status: Int, _ user: UserID, _ grant: Identifier, key: [UInt8], counter: Int64,
        account: [UInt8]?
    ) {
        guard let account else { return call.refuseDamaged(user) }
        guard let access = shard.sign(user, grant, Self.tokenLifetime, shard.clock.redisNow) else {
            return call.refuse(500, .internal, "this server has no secret to make tokens with")
        }
        let refresh = RefreshToken(user: user, grant: grant, counter: counter).text(key: key)
        var json = Array(#"{"user":"#.utf8)
        JSONWriter.string(user.string, to: &json)
        json += Array(
            #","accessToken":"\#(access)","expiresIn":\#(Self.tokenLifetime),"refreshToken":"\#(refresh)","account":"#
                .utf8)
        var response = HTTPResponse.json(status, json + account + [UInt8(ascii: "}")])
        // RFC 6749, 5.1.
        response.headers.append(("Cache-Control", "no-store"))
        call.respond(response)
    }
}
