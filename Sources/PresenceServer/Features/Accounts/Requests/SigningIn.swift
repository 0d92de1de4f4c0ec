import Passwords
import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// `POST /v1/sessions`.
extension Accounts {
    /// An unknown address takes the same steps and the same time: a missing record is read, and a dummy hash is verified. The
    /// same holds for accounts that are disabled or not yet verified.
    func signIn(_ call: HTTPCall) async throws(Refusal) -> HTTPResponse {
        let (mailCode, provider, code) = try call.body { (body) throws(DecodingFailure) in
            (try body.optionalText("mailCode"), try body.optionalText("provider"), try body.optionalText("code"))
        }
        if let mailCode { return try await signIn(call, mailCode: mailCode) }
        if let code { return try await signIn(call, code: code) }
        if let provider { return try await signIn(call, by: provider) }
        let logins = try liveLogins()
        // Before everything else, so that in a flood refused calls cost little and do not count as failures.
        let place = try call.place(in: Self.passwords)
        let (text, password, device) = try call.body { (body) throws(DecodingFailure) in
            (try body.text("email"), try body.text("password"), try SigningDevice(body))
        }
        let (email, name) = try await login(called: text)
        let (user, guess) = try await countGuess(call, email, named: name)

        let key = user.map { shard.partitions.keys(of: $0).user($0) } ?? logins.keys(of: name).user(Self.nobody)
        let words = try await guess.takenBack { () async throws(Refusal) in
            try await shard.run("HMGET", key, "password", "disabled", "email", "verified").array ?? []
        }
        let held = words.first?.bytes.flatMap { PasswordHash($0) }
        // The claim on a former address may still lead to its user, who has another address now. If accounts are hidden, only
        // the reader of the mail learns whether there was an account before.
        let isOut =
            words.count < 4 || words[1].bytes != nil || words[2].string != name
            || shard.configuration[Accounts.hideExisting] && words[3].bytes == nil
        let verdict = try await call.work(Self.passwords, at: place, unrun: { guess.refund() }) {
            Verdict(of: password, held ?? .ofNobody, strengthens: !isOut)
        }
        guard let user, let held, !isOut, verdict.isRight else {
            guess.fail()
            throw .credentials
        }
        return try await signIn(user, held: held, stronger: verdict.stronger, on: device, status: 200, guess: guess)
    }

    /// The e-mail address for a sign-in by address or username, and the name under which attempts are counted. An invalid
    /// address has no user, and is counted like any other.
    private func login(called text: String) async throws(Refusal) -> (EmailAddress?, name: String) {
        guard !text.utf8.contains(UInt8(ascii: "@")), let usernames else {
            let email = EmailAddress(text)
            return (email, email?.text ?? text.lowercased())
        }
        var email: EmailAddress?
        if let user = try await usernames.find(text) {
            email = try await shard.run("HGET", shard.partitions.keys(of: user).user(user), "email").string
                .flatMap { EmailAddress($0) }
        }
        return (email, email?.text ?? "@" + text.lowercased())
    }

    private struct Verdict: Sendable {
        let isRight: Bool
        /// The same password hashed with today's parameters, if these are stronger.
        let stronger: PasswordHash?

        init(of password: String, _ held: PasswordHash, strengthens: Bool) {
            isRight = held.matches(password)
            stronger = strengthens && isRight && held.isWeaker() ? PasswordHash(of: password) : nil
        }
    }

    private static let nobody = UserID("-")!
}
