import Foundation
import Passwords
import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// `POST /v1/accounts`.
extension Accounts {
    private struct SignUp {
        let email: EmailAddress
        let password: String
        let displayName: String
        let username: String?
        let device: SigningDevice
        let idempotency: String
    }

    func signUp(_ call: HTTPCall) throws(DecodingFailure) {
        let body = try RequestObject(json: call.body)
        let (address, password) = (try body.text("email"), try body.text("password"))
        let (named, username) = (try body.optionalText("displayName"), try body.optionalText("username"))
        let idempotency = try body.optionalText("idempotency") ?? ""
        let device = try SigningDevice(body)
        guard let email = EmailAddress(address) else { return call.refuseEmail() }
        if let rule = rules.brokenRule(by: password, names: [email.local] + (username.map { [$0] } ?? [])) {
            return call.refusePassword(rule, field: "password")
        }
        guard idempotency.utf8.count <= 64, idempotency.utf8.allSatisfy({ $0 >= 0x20 }) else {
            throw .invalid("idempotency", "must be at most 64 bytes, without control characters")
        }
        if let named, let rule = DisplayName.brokenRule(by: FreeText.trimmed(named)) {
            throw .invalid("displayName", rule)
        }
        guard shard.link.isLive, places != nil else { return call.refuseUnavailable() }
        if let wait = signUps.wait(for: 1, by: call.address, at: shard.clock.now), call.address != .none {
            return call.refuse(retryAfter: wait, "too many accounts are made from this address: nothing was done")
        }
        if call.address != .none { signUps.take(1, by: call.address, at: shard.clock.now) }
        let request = SignUp(
            email: email, password: password,
            displayName: named.map(FreeText.trimmed) ?? defaultDisplayName(email), username: username, device: device,
            idempotency: idempotency)
        guard let username else { return hash(call, request) }
        guard let usernames else {
            return call.refuse(
                422, .validationFailed, reason: "invalid_username", "this server has no usernames", field: "username")
        }
        usernames.check(username) { [self] refusal in
            guard let refusal else { return hash(call, request) }
            call.refuse(refusal.code == .conflict ? 409 : 422, refusal)
        }
    }

    /// What others see of people who give no name.
    private func defaultDisplayName(_ email: EmailAddress) -> String {
        guard shard.configuration[text: .defaultDisplayName] == "email" else { return "User" }
        return DisplayName.normalized(String(email.local.prefix(DisplayName.maximumCharacters))) ?? "User"
    }

    /// Also for an address that is taken: how long the answer takes tells nothing.
    private func hash(_ call: HTTPCall, _ request: SignUp) {
        let password = request.password
        call.work(Self.passwords) {
            PasswordHash(of: password)
        } then: { [self] hash in
            create(call, request, hash)
        }
    }

    private func create(_ call: HTTPCall, _ request: SignUp, _ hash: PasswordHash, tries: Int = 0) {
        guard let places else { return call.refuseUnavailable() }
        let keys = places.keys(of: request.email.text)
        let user = drawUser(in: places.partition(of: request.email.text))
        let grant = newGrant(for: request.device)
        let tries = tries + 1
        let hides = shard.configuration.isOn(.hideExisting)
        let token = MailToken(user: user, purpose: .verify)
        let mail = MailText.verification(of: request.email, token, self)
        call.ask {
            shard.store.run(
                .signUp,
                keys: [
                    keys.shards, keys.floor, keys.user(user), keys.email(request.email), keys.account(user),
                    keys.grants(user), keys.mail,
                ],
                arguments: [
                    keys.events, shard.link.incarnation, user.string, request.email.text, hash.bytes.hexadecimal,
                    StatusArguments.encoded(request.displayName), request.idempotency, String(Self.repetition),
                ] + (hides ? ["", "", "", ""] : grant.arguments) + [
                    token.digest, String(MailToken.verificationLifetime), mail.encoded,
                ], lane: .commands, reply: $0)
        } answered: { [self] value in
            let words = value.array ?? []
            switch words.first?.string {
            case "OK":
                made(call, request, user, grant, words)
                self.mail.deliver(keys)
            case "TAKEN": lookAtClaim(call, request, hash, words.last?.string.flatMap { EmailClaim($0) }, tries)
            default: call.refuseDamaged(user)
            }
        }
    }

    private func made(_ call: HTTPCall, _ request: SignUp, _ user: UserID, _ grant: NewGrant, _ words: [RedisValue]) {
        guard let usernames, let username = request.username else {
            return welcome(call, user, grant, words[1].bytes)
        }
        usernames.claim(username, for: user) { [self] refusal in
            guard let refusal else {
                return withAccount(call, user) { [self] in welcome(call, user, grant, $0[1].bytes) }
            }
            // Somebody was quicker: nothing of it has been.
            remove(call, user, held: nil) { call.refuse(409, refusal) }
        }
    }

    private func welcome(_ call: HTTPCall, _ user: UserID, _ grant: NewGrant, _ account: [UInt8]?) {
        // Whether there is an account is told by mail only, so nobody is signed in by this.
        if shard.configuration.isOn(.hideExisting) { return call.respond(.accepted) }
        answer(call, 201, user, grant.id, key: grant.key, counter: 1, account: account)
    }

    /// A user id in a partition, which nobody has: 100 random bits, of which the last 20 are tried one after the other.
    private func drawUser(in partition: Int) -> UserID {
        while true {
            let head = "u-" + shard.randomName()
            for tail in 0..<1_024 {
                let id = UserID(head + String(tail, radix: 32))!
                if shard.partitions.index(of: id) == partition { return id }
            }
        }
    }

    // MARK: An address that is taken

    /// It may be a claim that was left behind: then it is free after all.
    private func lookAtClaim(
        _ call: HTTPCall, _ request: SignUp, _ hash: PasswordHash, _ claim: EmailClaim?, _ tries: Int
    ) {
        guard let claim else { return call.refuseTaken() }
        isHeld(request.email, by: claim) { [self] isHeld in
            switch isHeld {
            case nil: call.refuseUnavailable()
            case false? where tries < 4: create(call, request, hash, tries: tries)
            default: answerTaken(call, request, by: claim.user)
            }
        }
    }

    private func answerTaken(_ call: HTTPCall, _ request: SignUp, by user: UserID) {
        if shard.configuration.isOn(.hideExisting) {
            if let places {
                mail.enqueue(MailText.existing(request.email, self), in: places.keys(of: request.email.text))
            }
            return call.respond(.accepted)
        }
        guard !request.idempotency.isEmpty else { return call.refuseTaken() }
        let key = shard.partitions.keys(of: user).account(user)
        call.ask(changes: false) {
            shard.store.command(["HMGET", key, "idempotency", "password"], lane: .commands, reply: $0)
        } answered: { [self] value in
            let words = value.array ?? []
            let parts = words.first?.string?.split(separator: " ", maxSplits: 1) ?? []
            guard parts.count == 2, parts[1] == request.idempotency, let until = Timestamp(parts[0]),
                shard.clock.redisNow < until, let held = words.last?.bytes.flatMap({ PasswordHash($0) })
            else { return call.refuseTaken() }
            let password = request.password
            call.work(Self.passwords) {
                held.matches(password)
            } then: { [self] isSame in
                guard isSame else { return call.refuseTaken() }
                signIn(call, as: user, held: held, stronger: nil, on: request.device, status: 201)
            }
        }
    }
}
