import Passwords
import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// Requests for which a user who is signed in gives the password again.
extension Accounts {
    /// The account of somebody who knows its password.
    struct Confirmed {
        let user: UserID
        let email: EmailAddress
        let username: String?
        /// The hash that the password was compared with.
        let held: PasswordHash
        /// Among the hashes: what else is hashed for the call is in its address' share too.
        let place: KeptPlace
    }

    /// Goes on if the password is right; a wrong one counts as a guess, and ends no session.
    ///
    /// - Parameter check: What is to be refused before anything is tried. `false` if it was.
    func confirm(
        _ call: HTTPCall, _ password: String, check: @escaping (EmailAddress, String?) -> Bool = { _, _ in true },
        then: @escaping (Confirmed) -> Void
    ) {
        guard let user = call.ownUser() else { return }
        guard shard.link.isLive, places != nil else { return call.refuseUnavailable() }
        guard let place = call.keepPlace(in: Self.passwords) else { return }
        let key = shard.partitions.keys(of: user).account(user)
        call.ask(changes: false) {
            shard.store.command(["HMGET", key, "email", "password", "held"], lane: .commands, reply: $0)
        } answered: { [self] value in
            let words = value.array ?? []
            guard words.count == 3, words[0].bytes != nil else { return call.refuseNoAccount() }
            guard let email = words[0].string.flatMap({ EmailAddress($0) }),
                let held = words[1].bytes.flatMap({ PasswordHash($0) })
            else { return call.refuseDamaged(user) }
            let account = Confirmed(user: user, email: email, username: words[2].string, held: held, place: place)
            guard check(email, account.username) else { return }
            countGuess(call, email, named: email.text) { _, guess in
                call.work(Self.passwords, at: place) {
                    held.matches(password)
                } unrun: {
                    guess.takeBack()
                } then: { isRight in
                    guard isRight else {
                        guess.fail()
                        return call.refuseCredentials()
                    }
                    guess.forget { then(account) }
                }
            }
        }
    }

    /// What others know of an account, which its password must not contain.
    static func names(_ email: EmailAddress, _ username: String?) -> [String] {
        [email.local] + (username.map { [$0] } ?? [])
    }

    // MARK: POST /v1/me/password

    func changePassword(_ call: HTTPCall) throws(DecodingFailure) {
        let body = try RequestObject(json: call.body)
        let (password, wanted) = (try body.text("password"), try body.text("newPassword"))
        let renews = try body.optionalBool("renew") ?? false
        confirm(call, password) { [self] email, username in
            guard let rule = rules.brokenRule(by: wanted, names: Self.names(email, username)) else { return true }
            call.refusePassword(rule, field: "newPassword")
            return false
        } then: { [self] account in
            call.work(Self.passwords) {
                PasswordHash(of: wanted)
            } then: { [self] hash in
                set(hash, call, account, renewing: renews && call.grant != nil)
            }
        }
    }

    /// - Parameter renews: The present device gets another grant: its former tokens and its sockets end with those of all others.
    private func set(_ hash: PasswordHash, _ call: HTTPCall, _ account: Confirmed, renewing renews: Bool) {
        let keys = shard.partitions.keys(of: account.user)
        let grant = renews ? (id: Identifier(shard.randomName())!, key: Sodium.random(16)) : nil
        call.ask {
            shard.store.run(
                .setPassword,
                keys: [keys.shards, keys.floor, keys.account(account.user), keys.grants(account.user), keys.mail]
                    + call.writer.keys,
                arguments: [
                    keys.events, shard.link.incarnation, account.user.string, account.held.bytes.hexadecimal,
                    hash.bytes.hexadecimal, call.grant?.string ?? "",
                    MailText.passwordChanged(account.email, self).encoded, "",
                ] + (grant.map { [$0.id.string, $0.key.hexadecimal] } ?? []), lane: .commands, reply: $0)
        } answered: { [self] value in
            let words = value.array ?? []
            switch words.first?.string {
            case "OK":
                if let grant, words.count > 1 {
                    answer(call, 200, account.user, grant.id, key: grant.key, counter: 1, account: words[1].bytes)
                } else {
                    call.respond(.done)
                }
                mail.deliver(keys)
            // Somebody else has changed it meanwhile.
            case "CHANGED": call.refuseCredentials()
            default: call.refuseDamaged(account.user)
            }
        }
    }
}
