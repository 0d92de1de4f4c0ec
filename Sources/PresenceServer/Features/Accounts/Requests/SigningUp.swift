import Foundation
import Passwords
import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// `POST /v1/accounts`. `HTTPAPI+Admission` has checked the call's rate and length. `signUp` checks the address
/// (`EmailAddress`) and the password (`PasswordRules`), takes a place among the hashes, charges the client's address,
/// hashes, and calls one script (`sign-up.lua`), which also stores the mail (`AccountMails`). `MailQueue` sends the mail,
/// written in the recipient's language, and `DeviceSignIn.swift` makes the tokens.
extension Accounts {
    private struct SignUp {
        let email: EmailAddress
        let password: String
        let displayName: String
        let username: String?
        let device: SigningDevice
        let idempotency: String
        let language: String?
    }

    /// Attempts to create an account whose claims end meanwhile.
    private static let mostTries = 4

    func signUp(_ call: HTTPCall) async throws(Refusal) -> HTTPResponse {
        let isGuest = try call.body { (body) throws(DecodingFailure) in try body.optionalBool("guest") ?? false }
        if isGuest { return try await signUpGuest(call) }
        let request = try signUp(of: call)
        let logins = try liveLogins()
        // Reserved before the address is charged, so that a call refused for a full queue costs it nothing.
        let place = try call.place(in: Self.passwords)
        try chargeSignUp(call, "too many accounts were created from this address: nothing was done")
        if let name = request.username, let refusal = try await refusal(of: name) {
            return try await respondNameTaken(call, request, refusal)
        }
        // Hashed even if the address is taken, so that the time of the response reveals nothing.
        let password = request.password
        let hash = try await call.work(Self.passwords, at: place) { PasswordHash(of: password) }
        var tries = 0
        while true {
            tries += 1
            let (user, grant) = (drawUser(in: logins.partition(of: request.email.text)), newGrant())
            let reply = try await create(user, grant, request, hash, logins)
            // After `OK`, the second word is about the username; without `OK`, the reply is about the address.
            switch (reply.word, reply[0].string) {
            case ("OK", "TAKEN"):
                return try await respondNameTaken(call, request, Usernames.Obstacle.taken.refusal)
            // A sweep ran before the account was created, and released the name.
            case ("OK", "GONE"): if tries > Self.mostTries { throw .noStore }
            case ("OK", _):
                if shard.configuration[Accounts.hideExisting] { return try await respondAlike(user, request.email) }
                mail.deliver(logins.keys(of: request.email.text))
                return try tokens(
                    of: user, grant.id, key: grant.key, counter: 1, account: reply[1].bytes, status: 201)
            default:
                guard let claim = reply[0].string.flatMap({ AccountClaim($0) }) else { throw .emailTaken }
                // The claim may be void; then the address is free after all.
                let isTaken = try await hidingFailures { () async throws(Refusal) in
                    try await isHeld(.email(request.email), by: claim)
                }
                if isTaken || tries >= Self.mostTries { return try await respondTaken(call, request, by: claim.user) }
            }
        }
    }

    private func signUp(of call: HTTPCall) throws(Refusal) -> SignUp {
        let (login, password, named, wished, idempotency, device) = try call.body { (body) throws(DecodingFailure) in
            (
                try body.text("email"), try body.text("password"), try body.optionalText("displayName"),
                try body.optionalText("username"), try body.optionalText("idempotency") ?? "", try SigningDevice(body)
            )
        }
        let language = try call.body { (body) throws(DecodingFailure) in try Self.language(in: body) }
        guard let email = EmailAddress(login) else { throw .invalidEmail }
        // A taken username would reveal whether the sign-up created an account.
        let username = shard.configuration[Accounts.hideExisting] ? nil : wished
        if let rule = rules.brokenRule(by: password, names: Self.names(email, username)) {
            throw .weakPassword(rule, field: "password")
        }
        guard idempotency.utf8.count <= 64, idempotency.utf8.allSatisfy({ $0 >= 0x20 }) else {
            throw Refusal(
                DecodingFailure.invalid("idempotency", "must be at most 64 bytes, without control characters"))
        }
        if let named, let rule = DisplayName.brokenRule(by: FreeText.trimmed(named)) {
            throw Refusal(DecodingFailure.invalid("displayName", rule))
        }
        return SignUp(
            email: email, password: password,
            displayName: named.map(FreeText.trimmed) ?? shard.configuration.defaultDisplayName(of: email),
            username: username, device: device, idempotency: idempotency, language: language)
    }

    /// Creates the account, with a claim on its username if there is one.
    private func create(
        _ user: UserID, _ grant: NewGrant, _ request: SignUp, _ hash: PasswordHash, _ logins: LoginPartitions
    ) async throws(Refusal) -> ScriptReply {
        let signsIn = !shard.configuration[Accounts.hideExisting]
        let token = MailToken(user: user, purpose: .verify)
        let mail = AccountMails.verification(of: request.email, token, self).encoded
        let change: ClaimChange = { wish, keys in
            ScriptCall(
                .signUp, in: keys, keys.ofSignUp(user, request.email),
                [
                    "intent": wish.intent, "user": user, "number": wish.number, "address": request.email.text,
                    "password": hash.bytes.hexadecimal, "displayName": JSONWriter.encoded(request.displayName),
                    "idempotency": request.idempotency, "repetition": Self.repetition,
                    "grant": signsIn ? grant.id : nil, "secret": grant.key.hexadecimal,
                    "kind": request.device.kind, "name": request.device.name, "digest": token.digest,
                    "lifetime": MailToken.lifetime, "text": mail, "isVerified": false,
                    "device": request.device.digest, "language": request.language.map(JSONWriter.encoded) ?? "",
                ])
        }
        if let name = request.username, let usernames {
            return try await usernames.claim(name, for: user, with: change)
        }
        return try await shard.run(change(ClaimWish(user), shard.partitions.keys(of: user)))
    }

    /// Draws an unused user id in a partition: 100 random bits, and a tail that is counted up until the id fits.
    func drawUser(in partition: Int) -> UserID {
        while true {
            let head = "u-" + shard.randomName()
            for tail in 0..<1_024 {
                let id = UserID(head + String(tail, radix: 32))!
                if shard.partitions.index(of: id) == partition { return id }
            }
        }
    }

    // MARK: Hidden accounts

    /// If accounts are hidden, only a mail reveals whether there was an account, so the response signs no device in. Its time
    /// must reveal nothing either: for a taken address the claim is checked and a mail counted before the response, so this
    /// function does both for a free address too.
    private func respondAlike(_ user: UserID, _ email: EmailAddress) async throws(Refusal) -> HTTPResponse {
        defer { mail.deliver(shard.partitions.keys(of: user)) }
        _ = try await hidingFailures { () async throws(Refusal) in
            try await isMeant(AccountClaim(user: user, number: 0), on: .email(email))
        }
        return try await notify(user, "")
    }

    /// - Parameter text: The mail that informs the owner of a sign-up with their address; empty if another mail does.
    private func notify(_ user: UserID, _ text: String) async throws(Refusal) -> HTTPResponse {
        let keys = shard.partitions.keys(of: user)
        defer { mail.deliver(keys) }
        let call = ScriptCall(.tellExisting, in: keys, ["user": keys.user(user), "mail": keys.mail], ["text": text])
        _ = try await hidingFailures { () async throws(Refusal) in try await shard.run(call) }
        return .accepted
    }

    /// If accounts are hidden, a failure of Redis after the script that may have created an account must reveal nothing.
    /// Whether or not the account existed, the response is that the outcome is unknown.
    private func hidingFailures<Value>(
        _ ask: () async throws(Refusal) -> Value
    ) async throws(Refusal) -> Value {
        do throws(Refusal) {
            return try await ask()
        } catch {
            throw shard.configuration[Accounts.hideExisting] ? .unknownOutcome() : error
        }
    }

    // MARK: An unavailable username

    private func refusal(of name: String) async throws(Refusal) -> Refusal? {
        guard let usernames else {
            throw Refusal(
                .validationFailed, "this server has no usernames", field: "username", reason: "invalid_username")
        }
        return try await usernames.obstacle(to: name, for: nil)?.refusal
    }

    /// The username may have been taken by this same sign-up, which is being repeated.
    private func respondNameTaken(
        _ call: HTTPCall, _ request: SignUp, _ refusal: Refusal
    ) async throws(Refusal) -> HTTPResponse {
        guard refusal.message.code == .conflict, !request.idempotency.isEmpty, let name = request.username,
            let claim = try await claim(on: .email(request.email)),
            try await usernames?.find(name) == claim.user
        else { throw refusal }
        return try await respondTaken(call, request, by: claim.user)
    }

    // MARK: A taken address

    private func respondTaken(
        _ call: HTTPCall, _ request: SignUp, by user: UserID
    ) async throws(Refusal) -> HTTPResponse {
        if shard.configuration[Accounts.hideExisting] {
            return try await notify(user, AccountMails.existing(request.email, self).encoded)
        }
        guard !request.idempotency.isEmpty else { throw .emailTaken }
        let key = shard.partitions.keys(of: user).user(user)
        let words = try await shard.run("HMGET", key, "idempotency", "password").array ?? []
        let parts = words.first?.string?.split(separator: " ", maxSplits: 1) ?? []
        guard parts.count == 2, parts[1].utf8.elementsEqual(request.idempotency.utf8), let until = Timestamp(parts[0]),
            shard.clock.redisNow < until, let held = words.last?.bytes.flatMap({ PasswordHash($0) })
        else { throw .emailTaken }
        // A repetition of the sign-up: the password must be the same, and is checked like one of a sign-in.
        let guess = try await countGuess(call, request.email, named: request.email.text).guess
        try await compare(call, request.password, with: held, guess, orThrow: .emailTaken)
        return try await signIn(user, held: held, on: request.device, status: 201, guess: guess)
    }
}

extension PartitionKeys {
    func ofSignUp(_ user: UserID, _ email: EmailAddress) -> KeyValuePairs<StaticString, String> {
        [
            "unfinished": unfinished, "user": self.user(user), "emails": emails(with: email), "grants": grants(user),
            "mail": mail, "guests": guests, "directory": directory,
        ]
    }
}
