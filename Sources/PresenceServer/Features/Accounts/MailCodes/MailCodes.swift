import CAssets
import Passwords
import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// Signing in with a code by mail: `POST /v1/signin/mail`, and `POST /v1/sessions` with `mailCode`.
///
/// The record of a code lies with the claim on its address, under the address's hash, whether there is an account or not. Its
/// tries are counted apart from those with passwords.
extension Accounts {
    /// The answer comes before anything is looked up, and the same script runs for every address.
    func requestMailCode(_ call: HTTPCall) throws(Refusal) -> HTTPResponse {
        let login = try call.body { (body) throws(DecodingFailure) in try body.text("email") }
        _ = try liveLogins()
        try chargeSignUp(call, "too many mails were requested from this address: nothing was done")
        guard let email = EmailAddress(login) else { return .accepted }
        let code = MailCode()
        late.begin { [unowned self] () async throws(RedisFailure) in try await mailCode(code, to: email) }
        return .accepted
    }

    func mailCode(_ code: MailCode, to email: EmailAddress) async throws(RedisFailure) {
        guard shard.link.isLive, let logins else { throw .disconnected(sent: false) }
        let keys = logins.keys(of: email.text)
        let call = ScriptCall(
            .askMailCode, in: keys,
            [
                "codes": keys.codes(logins.guesses(of: email.text)), "emails": keys.emails(with: email),
                "mail": keys.mail,
            ],
            [
                "address": email.text, "code": logins.digest(of: code.digits, for: email.text),
                "link": Sodium.sha256(Array(code.token.utf8)).hexadecimal, "lifetime": MailCode.lifetime,
                "memory": Self.guessMemory, "text": AccountMails.signIn(email, code, self).encoded,
                "forNew": shard.configuration[Accounts.mailCodeSignUp],
            ])
        guard try await shard.reply(to: call).word == "OK" else { throw .disconnected(sent: false) }
        mail.deliver(keys)
    }

    func signIn(_ call: HTTPCall, mailCode text: String) async throws(Refusal) -> HTTPResponse {
        let (login, named, device) = try call.body { (body) throws(DecodingFailure) in
            (try body.text("email"), try body.optionalText("displayName"), try SigningDevice(body))
        }
        if let named, let rule = DisplayName.brokenRule(by: FreeText.trimmed(named)) {
            throw Refusal(DecodingFailure.invalid("displayName", rule))
        }
        _ = try liveLogins()
        try chargeTry(call, "too many codes were tried from this address: this one was not checked")
        guard let email = EmailAddress(login), let entry = MailCode.Entry(text),
            var claim = try await use(entry, of: email)
        else {
            countFailure(of: call.address)
            throw .mailCode
        }
        tries.refund(1, to: call.address)
        for _ in 0..<4 {
            if let owner = AccountClaim(claim), try await isHeld(.email(email), by: owner) {
                return try await enter(owner.user, email, device)
            }
            guard shard.configuration[Accounts.mailCodeSignUp] else { throw .mailCode }
            let name = named.map(FreeText.trimmed) ?? shard.configuration.defaultDisplayName(of: email)
            switch try await signUp(email, name, device) {
            case .created(let response): return response
            case .taken(let other): claim = other
            }
        }
        throw .noStore
    }

    /// The claim on the address if the entry is right, an empty text if there is none; `nil` if it is wrong.
    private func use(_ entry: MailCode.Entry, of email: EmailAddress) async throws(Refusal) -> String? {
        guard let logins else { throw .noStore }
        let keys = logins.keys(of: email.text)
        var (code, link) = ("", "")
        switch entry {
        case .digits(let digits): code = logins.digest(of: digits, for: email.text)
        case .token(let token): link = Sodium.sha256(token).hexadecimal
        }
        let reply = try await shard.run(
            ScriptCall(
                .useMailCode, in: keys,
                ["codes": keys.codes(logins.guesses(of: email.text)), "emails": keys.emails(with: email)],
                ["address": email.text, "code": code, "link": link, "memory": Self.guessMemory]))
        return reply.word == "OK" ? reply[0].string : nil
    }

    private func enter(_ user: UserID, _ email: EmailAddress, _ device: SigningDevice) async throws(Refusal)
        -> HTTPResponse
    {
        let (keys, grant) = (shard.partitions.keys(of: user), newGrant())
        let reply = try await shard.run(
            ScriptCall(
                .enter, in: keys,
                [
                    "unfinished": keys.unfinished, "user": keys.user(user), "grants": keys.grants(user),
                    "mail": keys.mail,
                ],
                [
                    "user": user, "address": email.text, "grant": grant.id, "secret": grant.key.hexadecimal,
                    "kind": device.kind, "name": device.name, "idle": shard.configuration[Accounts.idle],
                    "most": shard.configuration[Accounts.mostDevices],
                    "identityIntent": IdentityChange.member(of: user), "device": device.digest,
                    "notice": AccountMails.newDevice(device, of: user, self),
                ]))
        guard reply.word == "OK" else { throw .mailCode }
        mail.deliver(keys)
        return try tokens(
            of: user, grant.id, key: grant.key, counter: 1, account: reply[0].bytes, status: 200, isCreated: false)
    }

    private enum MailSignUp {
        case created(HTTPResponse)
        /// By this claim.
        case taken(String)
    }

    private func signUp(
        _ email: EmailAddress, _ displayName: String, _ device: SigningDevice
    ) async throws(Refusal) -> MailSignUp {
        guard let logins else { throw .noStore }
        let (user, grant) = (drawUser(in: logins.partition(of: email.text)), newGrant())
        let keys = shard.partitions.keys(of: user)
        let create = ScriptCall(
            .signUp, in: keys, keys.ofSignUp(user, email),
            [
                "intent": "", "user": user, "number": "", "address": email.text, "password": "",
                "displayName": JSONWriter.encoded(displayName), "idempotency": "", "repetition": 0, "grant": grant.id,
                "secret": grant.key.hexadecimal, "kind": device.kind, "name": device.name, "digest": "-",
                "lifetime": 0, "text": "", "isVerified": true, "device": device.digest, "language": "",
            ])
        let reply = try await shard.run(create)
        guard reply.word == "OK" else { return .taken(reply[0].string ?? "") }
        return .created(
            try tokens(
                of: user, grant.id, key: grant.key, counter: 1, account: reply[1].bytes, status: 201, isCreated: true))
    }
}

extension Refusal {
    /// One refusal for a wrong, used or expired code, and for an account that is disabled.
    fileprivate static var mailCode: Refusal {
        Refusal(
            .unauthorized, "this address and code sign nobody in", status: 401, reason: "invalid_credentials")
    }
}

/// The scripts of codes by mail.
extension Script {
    static let askMailCode = change("ask-mail-code", asset_ask_mail_code())
    static let useMailCode = change("use-mail-code", asset_use_mail_code())
    static let enter = change("enter", asset_enter(), deviceLibrary)

    static let mailCodes: [Script] = [.askMailCode, .useMailCode, .enter]
}
