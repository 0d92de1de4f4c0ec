import Passwords
import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// Requests for which a signed-in user must enter the password again.
extension Accounts {
    /// An account whose password the caller has entered.
    struct Confirmed {
        let user: UserID
        let email: EmailAddress
        let username: String?
        /// The hash with which the password was compared.
        let held: PasswordHash
        /// The place among the hashes; further hashes for the call count towards the same share of the client's address.
        let place: KeptPlace
    }

    /// The caller's account if the password is right. A wrong password counts as a guess, and ends no session.
    ///
    /// - Parameter check: Refuses a request before its password is tried.
    func confirm(
        _ call: HTTPCall, _ password: String,
        check: (EmailAddress, String?) throws(Refusal) -> Void = { (_, _) throws(Refusal) in }
    ) async throws(Refusal) -> Confirmed {
        let user = try call.owner()
        _ = try liveLogins()
        let place = try call.place(in: Self.passwords)
        let key = shard.partitions.keys(of: user).user(user)
        let words = try await shard.run("HMGET", key, "email", "password", "held", "version").array ?? []
        guard words.count == 4, words[3].bytes != nil else { throw .noAccount }
        guard words[1].bytes != nil else { throw .noPassword }
        guard let email = words[0].string.flatMap({ EmailAddress($0) }),
            let held = words[1].bytes.flatMap({ PasswordHash($0) })
        else { throw shard.damaged(user) }
        let account = Confirmed(user: user, email: email, username: words[2].string, held: held, place: place)
        try check(email, account.username)
        let guess = try await countGuess(call, email, named: email.text).guess
        try await compare(call, password, with: held, at: place, guess, orThrow: .credentials)
        await guess.forget()
        return account
    }

    /// - Throws: `refusal` if the password is wrong.
    func compare(
        _ call: HTTPCall, _ password: String, with held: PasswordHash, at place: KeptPlace? = nil, _ guess: Guess,
        orThrow refusal: Refusal
    ) async throws(Refusal) {
        let isRight = try await call.work(Self.passwords, at: place, unrun: { guess.refund() }) {
            held.matches(password)
        }
        guard isRight else {
            guess.fail()
            throw refusal
        }
    }

    /// The names of an account that others know, which its password must not contain.
    static func names(_ email: EmailAddress, _ username: String?) -> [String] {
        [email.local] + (username.map { [$0] } ?? [])
    }

    // MARK: POST /v1/me/password

    /// With `renew`, the calling device gets a new grant: its former tokens and its sockets end together with those of all
    /// other devices.
    func changePassword(_ call: HTTPCall) async throws(Refusal) -> HTTPResponse {
        let (password, wanted, renews) = try call.body { (body) throws(DecodingFailure) in
            (try body.text("password"), try body.text("newPassword"), try body.optionalBool("renew") ?? false)
        }
        let account = try await confirm(call, password) { [rules] (email, username) throws(Refusal) in
            guard let rule = rules.brokenRule(by: wanted, names: Self.names(email, username)) else { return }
            throw .weakPassword(rule, field: "newPassword")
        }
        let hash = try await call.work(Self.passwords) { PasswordHash(of: wanted) }
        withExtendedLifetime(account.place) {}
        let (user, keys) = (account.user, shard.partitions.keys(of: account.user))
        let grant = renews && call.grant != nil ? newGrant() : nil
        let set = ScriptCall(
            .setPassword, in: keys,
            ["user": keys.user(user), "grants": keys.grants(user), "mail": keys.mail],
            [
                "user": user, "compared": account.held.bytes.hexadecimal, "password": hash.bytes.hexadecimal,
                "stays": call.grant, "text": AccountMails.passwordChanged(of: user, self),
                "isVerified": false, "grant": grant?.id, "secret": grant?.key.hexadecimal,
            ], by: call.writer)
        // If the password has changed meanwhile, nothing is changed.
        let reply = try await shard.run(set).accepted(or: AccountRefusal.self)
        mail.deliver(keys)
        guard let grant, reply.count > 0 else { return .done }
        return try tokens(of: user, grant.id, key: grant.key, counter: 1, account: reply[0].bytes, status: 200)
    }
}
