import Passwords
import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// `POST /v1/sessions`.
extension Accounts {
    func signIn(_ call: HTTPCall) throws(DecodingFailure) {
        let body = try RequestObject(json: call.body)
        let (name, password) = (try body.text("email"), try body.text("password"))
        let device = try SigningDevice(body)
        guard shard.link.isLive, places != nil else { return call.refuseUnavailable() }
        // An address that cannot be one is nobody's, and counted like any other.
        guard !name.utf8.contains(UInt8(ascii: "@")), let usernames else {
            return guess(call, EmailAddress(name), named: name.lowercased(), password, device)
        }
        usernames.find(name) { [self] result in
            guard case .success(let user) = result else { return call.refuseUnavailable() }
            guard let user else { return guess(call, nil, named: "@" + name.lowercased(), password, device) }
            let key = shard.partitions.keys(of: user).account(user)
            call.ask(changes: false) {
                shard.store.command(["HGET", key, "email"], lane: .commands, reply: $0)
            } answered: { [self] value in
                let email = value.string.flatMap { EmailAddress($0) }
                guess(call, email, named: email?.text ?? "@" + name.lowercased(), password, device)
            }
        }
    }

    private func guess(
        _ call: HTTPCall, _ email: EmailAddress?, named name: String, _ password: String, _ device: SigningDevice
    ) {
        countGuess(call, email, named: email?.text ?? name) { [self] user, forget in
            look(call, for: user, near: email?.text ?? name, password, device, forget)
        }
    }

    /// Forgets the failures for an address, since a password was right, and calls back: what is answered afterwards is true
    /// on every server.
    typealias Forget = (@escaping () -> Void) -> Void

    /// Counts a try of a password, before it is looked at, for an address that somebody has or not.
    ///
    /// - Parameter counted: Whose address it is, and what to do when the password was right.
    func countGuess(
        _ call: HTTPCall, _ email: EmailAddress?, named name: String,
        counted: @escaping (_ user: UserID?, _ forget: @escaping Forget) -> Void
    ) {
        guard let places else { return call.refuseUnavailable() }
        let keys = places.keys(of: name)
        let guessKey = keys.guesses(places.guesses(of: name))
        if let wait = guesses.take(by: call.address, at: shard.clock.now) {
            return call.refuse(retryAfter: wait, "too many passwords are tried from this address: it was not looked at")
        }
        call.ask {
            shard.store.run(
                .guess, keys: [keys.shards, guessKey, keys.emails(with: email ?? .nobody)],
                arguments: [shard.link.incarnation, String(Self.guessMemory), (email ?? .nobody).text], lane: .commands,
                reply: $0)
        } answered: { [self] value in
            let words = value.array ?? []
            switch words.first?.string {
            case "WAIT":
                let wait = max(1, words.last?.int ?? 1_000)
                call.refuse(retryAfter: wait, "too many wrong passwords: this one was not looked at")
            case "OK":
                counted(words.last?.string.flatMap { EmailClaim($0)?.user }) { [self] done in
                    shard.store.command(["DEL", guessKey], lane: .commands) { _ in done() }
                }
            default: call.refuse(500, .internal, "the server could not do this")
            }
        }
    }

    /// Nobody's address takes the same way: a record that is not there is read, and a hash of nothing verified.
    private func look(
        _ call: HTTPCall, for user: UserID?, near name: String, _ password: String, _ device: SigningDevice,
        _ forget: @escaping Forget
    ) {
        guard let places else { return call.refuseUnavailable() }
        let key =
            user.map { shard.partitions.keys(of: $0).account($0) } ?? places.keys(of: name).account(Self.nobody)
        call.ask(changes: false) {
            shard.store.command(["HMGET", key, "password", "disabled", "email"], lane: .commands, reply: $0)
        } answered: { [self] value in
            let words = value.array ?? []
            let held = words.first?.bytes.flatMap { PasswordHash($0) }
            // An address that was given up may still lead to its user, who has another now.
            let isOut = words.count < 3 || words[1].bytes != nil || words[2].string != name
            call.work(Self.passwords) {
                Self.verify(password, held ?? .ofNobody)
            } then: { [self] verdict in
                guard let user, let held, !isOut, verdict.isRight else { return call.refuseCredentials() }
                signIn(
                    call, as: user, held: held, stronger: verdict.stronger, on: device, status: 200, forget: forget)
            }
        }
    }

    struct Verdict: Sendable {
        let isRight: Bool
        /// The same password, hashed as it would be today, if that is more.
        let stronger: PasswordHash?
    }

    static func verify(_ password: String, _ held: PasswordHash) -> Verdict {
        let isRight = held.matches(password)
        return Verdict(
            isRight: isRight, stronger: isRight && held.isWeaker() ? PasswordHash(of: password) : nil)
    }

    private static let nobody = UserID("-")!
}

extension Rates<AddressBlock> {
    /// Takes one for an address, unless that is not counted. How long there is none, in ms; `nil`: it is taken.
    mutating func take(by address: AddressBlock, at now: Milliseconds) -> Milliseconds? {
        guard address != .none else { return nil }
        expire(now: now)
        if let wait = wait(for: 1, by: address, at: now) { return wait }
        take(1, by: address, at: now)
        return nil
    }
}

extension EmailAddress {
    /// One that nobody can have.
    static let nobody = EmailAddress("nobody@invalid.invalid")!
}
