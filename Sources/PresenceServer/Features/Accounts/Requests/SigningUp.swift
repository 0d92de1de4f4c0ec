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
        /// Among the hashes.
        let place: KeptPlace
    }

    func signUp(_ call: HTTPCall) throws(DecodingFailure) {
        let body = try RequestObject(json: call.body)
        let (address, password) = (try body.text("email"), try body.text("password"))
        let (named, wished) = (try body.optionalText("displayName"), try body.optionalText("username"))
        // Whether it was taken would tell whether there is a new account.
        let username = shard.configuration.isOn(.hideExisting) ? nil : wished
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
        // First, so that what is refused for it does not count for the address.
        guard let place = call.keepPlace(in: Self.passwords) else { return }
        if let wait = signUps.take(by: call.address, at: shard.clock.now) {
            return call.refuse(
                .signUps, retryAfter: wait, "too many accounts are made from this address: nothing was done")
        }
        let request = SignUp(
            email: email, password: password,
            displayName: named.map(FreeText.trimmed) ?? shard.configuration.defaultDisplayName(of: email),
            username: username, device: device,
            idempotency: idempotency, place: place)
        guard let username else { return hash(call, request) }
        guard let usernames else {
            return call.refuse(
                422, .validationFailed, reason: "invalid_username", "this server has no usernames", field: "username")
        }
        usernames.check(username) { [self] result in
            switch result {
            case .success(nil): hash(call, request)
            case .success(let refusal?): refuse(call, request, refusal)
            case .failure: call.refuseUnavailable()
            }
        }
    }

    /// Also for an address that is taken: how long the answer takes tells nothing.
    private func hash(_ call: HTTPCall, _ request: SignUp) {
        let password = request.password
        call.work(Self.passwords, at: request.place) {
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
        let change = ClaimChange(
            .signUp,
            keys: { [$0.user(user), $0.emails(with: request.email), $0.account(user), $0.grants(user), $0.mail] },
            arguments: [
                request.email.text, hash.bytes.hexadecimal, StatusArguments.encoded(request.displayName),
                request.idempotency, String(Self.repetition),
            ] + (hides ? ["", "", "", ""] : grant.arguments) + [
                token.digest, String(MailToken.lifetime), mail.encoded,
            ])
        call.ask {
            run(change, for: user, named: request.username, reply: $0)
        } answered: { [self] value in
            let words = value.array ?? []
            switch (words.first?.string, words.count > 1 ? words[1].string : nil) {
            case ("OK", "TAKEN"): refuse(call, request, usernames?.takenRefusal)
            // A sweep came between, and found no account.
            case ("OK", "GONE"):
                guard tries < 5 else { return call.refuseUnavailable() }
                create(call, request, hash, tries: tries)
            case ("OK", _):
                if hides { return answerAlike(call, request, user) }
                answer(
                    call, 201, user, grant.id, key: grant.key, counter: 1,
                    account: words.count > 2 ? words[2].bytes : nil)
                self.mail.deliver(keys)
            case ("TAKEN", _):
                lookAtClaim(call, request, hash, words.last?.string.flatMap { EmailClaim($0) }, tries)
            default: call.refuseDamaged(user)
            }
        }
    }

    /// Makes the account, with a claim on its username or without one.
    private func run(_ change: ClaimChange, for user: UserID, named name: String?, reply: @escaping StoreReply) {
        if let name, let usernames { return usernames.claim(name, for: user, with: change, reply: reply) }
        let keys = shard.partitions.keys(of: user)
        shard.store.run(
            change.script, keys: [keys.shards, keys.unfinished, keys.username(user), keys.floor] + change.keys(keys),
            arguments: [keys.events, shard.link.incarnation, "", user.string, ""] + change.arguments, lane: .commands,
            reply: reply)
    }

    /// Whether there is an account is told by mail only, so nobody is signed in by this. And not by the time, either: for an
    /// address that is taken the claim is looked at and a mail counted before the answer, so the same is done here. Nor by what
    /// Redis refuses meanwhile: either way it is said that nobody knows what was done.
    private func answerAlike(_ call: HTTPCall, _ request: SignUp, _ user: UserID) {
        isMeant(EmailClaim(user: user, number: 0), of: request.email) { [self] isMeant in
            if isMeant != nil { return answer(call, telling: user, "") }
            call.refuseUnknown()
            mail.deliver(shard.partitions.keys(of: user))
        }
    }

    /// - Parameter mail: That tells a user of a sign-up with their address; empty if another does.
    private func answer(_ call: HTTPCall, telling user: UserID, _ mail: String) {
        let keys = shard.partitions.keys(of: user)
        shard.store.run(
            .tellExisting, keys: [keys.shards, keys.account(user), keys.mail],
            arguments: [shard.link.incarnation, mail], lane: .commands
        ) { [self] result in
            if isDone(result) { call.respond(.accepted) } else { call.refuseUnknown() }
            self.mail.deliver(keys)
        }
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

    // MARK: A username that cannot be had

    /// It may be taken by this sign-up itself, which is repeated.
    private func refuse(_ call: HTTPCall, _ request: SignUp, _ refusal: ServerMessage.ErrorMessage?) {
        guard let refusal, let name = request.username, let usernames, let places else {
            return call.refuseUnavailable()
        }
        guard refusal.code == .conflict, !request.idempotency.isEmpty else { return call.refuse(refusal) }
        call.ask(changes: false) {
            shard.store.command(
                ["HGET", places.keys(of: request.email.text).emails(with: request.email), request.email.text],
                lane: .commands, reply: $0)
        } answered: { value in
            guard let claim = value.string.flatMap({ EmailClaim($0) }) else { return call.refuse(refusal) }
            usernames.find(name) { [self] result in
                switch result {
                case .failure: call.refuseUnavailable()
                case .success(claim.user?): answerTaken(call, request, by: claim.user)
                case .success: call.refuse(refusal)
                }
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
            // As it is for an address that is free.
            case nil where shard.configuration.isOn(.hideExisting): call.refuseUnknown()
            case nil: call.refuseUnavailable()
            case false? where tries < 4: create(call, request, hash, tries: tries)
            default: answerTaken(call, request, by: claim.user)
            }
        }
    }

    private func answerTaken(_ call: HTTPCall, _ request: SignUp, by user: UserID) {
        if shard.configuration.isOn(.hideExisting) {
            return answer(call, telling: user, MailText.existing(request.email, self).encoded)
        }
        guard !request.idempotency.isEmpty else { return call.refuseTaken() }
        let key = shard.partitions.keys(of: user).account(user)
        call.ask(changes: false) {
            shard.store.command(["HMGET", key, "idempotency", "password"], lane: .commands, reply: $0)
        } answered: { [self] value in
            let words = value.array ?? []
            let parts = words.first?.string?.split(separator: " ", maxSplits: 1) ?? []
            guard parts.count == 2, parts[1].utf8.elementsEqual(request.idempotency.utf8),
                let until = Timestamp(parts[0]),
                shard.clock.redisNow < until, let held = words.last?.bytes.flatMap({ PasswordHash($0) })
            else { return call.refuseTaken() }
            repeatSignUp(call, request, of: user, held: held)
        }
    }

    /// Only with the same password, which is tried here as it is at a sign-in.
    private func repeatSignUp(_ call: HTTPCall, _ request: SignUp, of user: UserID, held: PasswordHash) {
        let password = request.password
        countGuess(call, request.email, named: request.email.text) { [self] _, guess in
            call.work(Self.passwords) {
                held.matches(password)
            } unrun: {
                guess.takeBack()
            } then: { [self] isSame in
                guard isSame else {
                    guess.fail()
                    return call.refuseTaken()
                }
                signIn(call, as: user, held: held, stronger: nil, on: request.device, status: 201, guess: guess)
            }
        }
    }
}
