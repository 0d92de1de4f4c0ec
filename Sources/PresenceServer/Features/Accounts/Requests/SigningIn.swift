import Passwords
import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// `POST /v1/sessions`.
extension Accounts {
    func signIn(_ call: HTTPCall) throws(DecodingFailure) {
        guard shard.link.isLive, places != nil else { return call.refuseUnavailable() }
        // Before anything else: in a flood, what is refused costs little, and counts as no failure.
        guard let place = call.keepPlace(in: Self.passwords) else { return }
        let body = try RequestObject(json: call.body)
        let (name, password) = (try body.text("email"), try body.text("password"))
        let attempt = Attempt(password: password, device: try SigningDevice(body), place: place)
        // An address that cannot be one is nobody's, and counted like any other.
        guard !name.utf8.contains(UInt8(ascii: "@")), let usernames else {
            return guess(call, EmailAddress(name), named: name.lowercased(), attempt)
        }
        usernames.find(name) { [self] result in
            guard case .success(let user) = result else { return call.refuseUnavailable() }
            guard let user else { return guess(call, nil, named: "@" + name.lowercased(), attempt) }
            let key = shard.partitions.keys(of: user).account(user)
            call.ask(changes: false) {
                shard.store.command(["HGET", key, "email"], lane: .commands, reply: $0)
            } answered: { [self] value in
                let email = value.string.flatMap { EmailAddress($0) }
                guess(call, email, named: email?.text ?? "@" + name.lowercased(), attempt)
            }
        }
    }

    private struct Attempt {
        let password: String
        let device: SigningDevice
        let place: KeptPlace
    }

    private func guess(_ call: HTTPCall, _ email: EmailAddress?, named name: String, _ attempt: Attempt) {
        countGuess(call, email, named: email?.text ?? name) { [self] user, guess in
            look(call, for: user, near: email?.text ?? name, attempt, guess)
        }
    }

    /// Nobody's address takes the same way: a record that is not there is read, and a hash of nothing verified. So does one that
    /// must not sign in yet, or any more.
    private func look(
        _ call: HTTPCall, for user: UserID?, near name: String, _ attempt: Attempt, _ guess: Guess
    ) {
        guard let places else { return call.refuseUnavailable() }
        let key =
            user.map { shard.partitions.keys(of: $0).account($0) } ?? places.keys(of: name).account(Self.nobody)
        call.ask(changes: false) {
            shard.store.command(
                ["HMGET", key, "password", "disabled", "email", "verified"], lane: .commands, reply: $0)
        } refused: {
            guess.takeBack()
        } answered: { [self] value in
            let words = value.array ?? []
            let held = words.first?.bytes.flatMap { PasswordHash($0) }
            // An address that was given up may still lead to its user, who has another now. Where accounts are hidden, whether
            // there was one before is told to those alone who read the mail.
            let isOut =
                words.count < 4 || words[1].bytes != nil || words[2].string != name
                || shard.configuration.isOn(.hideExisting) && words[3].bytes == nil
            let password = attempt.password
            call.work(Self.passwords, at: attempt.place) {
                Self.verify(password, held ?? .ofNobody, strengthens: !isOut)
            } unrun: {
                guess.takeBack()
            } then: { [self] verdict in
                guard let user, let held, !isOut, verdict.isRight else {
                    guess.fail()
                    return call.refuseCredentials()
                }
                signIn(
                    call, as: user, held: held, stronger: verdict.stronger, on: attempt.device, status: 200,
                    guess: guess)
            }
        }
    }

    struct Verdict: Sendable {
        let isRight: Bool
        /// The same password, hashed as it would be today, if that is more.
        let stronger: PasswordHash?
    }

    static func verify(_ password: String, _ held: PasswordHash, strengthens: Bool) -> Verdict {
        let isRight = held.matches(password)
        return Verdict(
            isRight: isRight,
            stronger: strengthens && isRight && held.isWeaker() ? PasswordHash(of: password) : nil)
    }

    private static let nobody = UserID("-")!
}
