import CAssets
import Passwords
import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// Guests: accounts without address and password. `POST /v1/accounts` with `guest`, `POST /v1/me/upgrade`.
///
/// A guest becomes an account as an address is changed: `EmailChange` claims the address, and `switch-email.lua` stores it.
extension Accounts {
    private static let guestName = "Guest"

    /// Creates a guest. Its user id lies in any partition, because no address must lie beside it.
    func signUpGuest(_ call: HTTPCall) async throws(Refusal) -> HTTPResponse {
        let (named, device, language, unwanted) = try call.body { (body) throws(DecodingFailure) in
            (
                try body.optionalText("displayName"), try SigningDevice(body), try Self.language(in: body),
                ["email", "password", "username"].first { body.has($0) }
            )
        }
        guard shard.configuration[Accounts.guests] else {
            throw Refusal(.forbidden, "this server has no guests", reason: "guests_off")
        }
        if let unwanted { throw Refusal(DecodingFailure.invalid(unwanted, "must be left out for a guest")) }
        if let named, let rule = DisplayName.brokenRule(by: FreeText.trimmed(named)) {
            throw Refusal(DecodingFailure.invalid("displayName", rule))
        }
        _ = try liveLogins()
        try chargeSignUp(call, "too many accounts were created from this address: nothing was done")
        let (user, grant) = (UserID("u-" + shard.randomName())!, newGrant())
        let keys = shard.partitions.keys(of: user)
        let create = ScriptCall(
            .signUp, in: keys, keys.ofSignUp(user, .nobody),
            [
                "intent": "", "user": user, "number": "", "address": "", "password": "",
                "displayName": JSONWriter.encoded(named.map(FreeText.trimmed) ?? Self.guestName), "idempotency": "",
                "repetition": 0, "grant": grant.id, "secret": grant.key.hexadecimal, "kind": device.kind,
                "name": device.name, "digest": "", "lifetime": 0, "text": "", "isVerified": false,
                "device": device.digest, "language": language.map(JSONWriter.encoded) ?? "",
            ])
        let reply = try await shard.run(create).accepted(or: AccountRefusal.self)
        return try tokens(of: user, grant.id, key: grant.key, counter: 1, account: reply[1].bytes, status: 201)
    }

    /// Gives a guest an address and a password. User id, devices and all data stay. If accounts are hidden, both count from the
    /// moment when the link in a mail to the address is opened; for a taken address there is no mail.
    func upgrade(_ call: HTTPCall) async throws(Refusal) -> HTTPResponse {
        let (text, password) = try call.body { (body) throws(DecodingFailure) in
            (try body.text("email"), try body.text("password"))
        }
        guard let email = EmailAddress(text) else { throw .invalidEmail }
        let user = try call.owner()
        _ = try liveLogins()
        let keys = shard.partitions.keys(of: user)
        let words = try await shard.run("HMGET", keys.user(user), "version", "email", "held").array ?? []
        guard words.count == 3, words[0].bytes != nil else { throw .noAccount }
        guard words[1].isNull else { throw .upgraded }
        if let rule = rules.brokenRule(by: password, names: Self.names(email, words[2].string)) {
            throw .weakPassword(rule, field: "password")
        }
        let place = try call.place(in: Self.passwords)
        try chargeSignUp(call, "too many accounts were created from this address: nothing was done")
        let hash = try await call.work(Self.passwords, at: place) { PasswordHash(of: password) }
        if shard.configuration[Accounts.hideExisting] {
            return try await requestUpgrade(call, user, email, hash)
        }
        let reply = try await emailChange.upgrade(user, to: email, hash, by: call.writer)
        if ["CHANGED", "GONE"].contains(reply.word) { throw .upgraded }
        _ = try reply.accepted(or: AccountRefusal.self)
        return try own(try await account(of: user), user)
    }

    private func requestUpgrade(
        _ call: HTTPCall, _ user: UserID, _ email: EmailAddress, _ hash: PasswordHash
    ) async throws(Refusal) -> HTTPResponse {
        let isMailed = try await isFree(email, for: user, with: nil)
        let keys = shard.partitions.keys(of: user)
        let token = MailToken(user: user, purpose: .change)
        let ask = ScriptCall(
            .askEmail, in: keys, ["user": keys.user(user), "mail": keys.mail],
            [
                "compared": "", "password": hash.bytes.hexadecimal, "address": email.text, "digest": token.digest,
                "lifetime": MailToken.lifetime,
                "text": isMailed ? AccountMails.change(to: email, token, self).encoded : "",
            ], by: call.writer)
        let reply = try await shard.run(ask)
        if reply.word == "CHANGED" { throw .upgraded }
        _ = try reply.accepted(or: AccountRefusal.self)
        mail.deliver(keys)
        return .accepted
    }

    /// Deletes the caller's account if it is a guest's. Other accounts need their password.
    func deleteGuest(_ call: HTTPCall, erases: Bool) async throws(Refusal) -> HTTPResponse {
        let user = try call.owner()
        let key = shard.partitions.keys(of: user).user(user)
        guard try await shard.run("HEXISTS", key, "guest").int == 1 else {
            throw Refusal(DecodingFailure.missing("password"))
        }
        return try await remove(user, held: nil, guest: .own, erases: erases, by: call.writer)
    }
}

/// The guest that a deletion is about.
enum UnusedGuest {
    /// The caller's own.
    case own
    /// One that was not used for so long.
    case unused(Milliseconds)

    /// For `delete-account.lua`.
    var argument: String {
        switch self {
        case .own: "own"
        case .unused(let time): String(time)
        }
    }
}

/// The scripts of guests.
extension Script {
    static let unusedGuests = Script("unused-guests", asset_unused_guests())
    static let wantUpgrade = change("want-upgrade", asset_want_upgrade())

    static let guests: [Script] = [.unusedGuests, .wantUpgrade]
}
