import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// An attempt with a password that has been counted for an e-mail address but not yet checked.
///
/// Its state is one record in Redis. So call one of the functions, and call it only once.
struct Guess {
    fileprivate let accounts: Accounts
    /// The client's address.
    fileprivate let address: AddressBlock
    fileprivate let keys: PartitionKeys
    fileprivate let key: String
    /// The record after this attempt: the end of the pause, and the time of the first attempt.
    fileprivate let blocked: String
    fileprivate let began: String

    private var shard: ShardLogic { accounts.shard }

    /// The password was right: clears the failures for the e-mail address. It returns once this holds on all servers. If the store
    /// refuses, the earlier failures stay and only this attempt is taken back. The client's address gets its attempt back too,
    /// because many users may sign in from one address.
    func forget() async {
        accounts.tries.refund(1, to: address)
        do { _ = try await shard.command(["DEL", key]) } catch { refund() }
    }

    /// The password was wrong: counts as a failure of the client's address too.
    func fail() { accounts.countFailure(of: address) }

    /// The password was not checked and never will be, because the client disconnected or the call was refused, so the attempt
    /// revealed nothing. Or the password was right, but the store refused the change. If the store is unreachable, the attempt
    /// stays counted.
    func refund() {
        let call = ScriptCall(
            .takeBackGuess, in: keys, ["guesses": key],
            ["memory": Accounts.guessMemory, "wasBlocked": blocked, "hadBegun": began])
        shard.run(call) { [accounts] result in accounts.shard.link.noticeFencing(in: result) }
    }

    /// Refunds the attempt if `perform` is refused.
    func takenBack<Value>(
        ifRefused perform: () async throws(Refusal) -> Value
    ) async throws(Refusal) -> Value {
        do throws(Refusal) {
            return try await perform()
        } catch {
            refund()
            throw error
        }
    }
}

extension Accounts {
    /// Counts an attempt with a password before it is checked, whether or not the address has an account.
    ///
    /// Reserve a place among the hashes first, so that calls refused because of a full queue do not call Redis.
    ///
    /// - Returns: The owner of the address, and the attempt, which must be taken back if the call is refused before the
    ///   password was checked.
    func countGuess(
        _ call: HTTPCall, _ email: EmailAddress?, named name: String
    ) async throws(Refusal) -> (user: UserID?, guess: Guess) {
        guard let logins else { throw .noStore }
        let keys = logins.keys(of: name)
        let key = keys.guesses(logins.guesses(of: name))
        try chargeTry(call, "too many passwords were tried from this address: this one was not checked")
        let email = email ?? .nobody
        let reply = try await shard.run(
            ScriptCall(
                .guess, in: keys, ["guesses": key, "emails": keys.emails(with: email)],
                ["memory": Self.guessMemory, "address": email.text]))
        guard reply.word == "OK" else {
            throw Refusal(
                .rateLimited, "too many wrong passwords: this one was not looked at",
                retryAfter: max(1, reply[0].int ?? 1_000))
        }
        let guess = Guess(
            accounts: self, address: call.address, keys: keys, key: key, blocked: reply[1].string ?? "",
            began: reply[2].string ?? "")
        return (reply[0].string.flatMap { AccountClaim($0)?.user }, guess)
    }
}

extension Accounts {
    /// Consumes an attempt of the client's address, which is refunded if it was right.
    ///
    /// - Throws: A refusal with the message, if the client's address has made too many attempts.
    func chargeTry(_ call: HTTPCall, _ message: String) throws(Refusal) {
        guesses.expire(now: shard.clock.now)
        guard
            let wait = guesses.wait(for: 1, by: call.address, at: shard.clock.now)
                ?? tries.charge(by: call.address, at: shard.clock.now)
        else { return }
        throw call.met(.guesses, retryAfter: wait, message)
    }

    /// The attempt was wrong: counts as a failure of the client's address.
    func countFailure(of address: AddressBlock) {
        guard address != .none else { return }
        guesses.consume(1, by: address, at: shard.clock.now)
    }
}

extension Rates<AddressBlock> {
    /// Consumes an attempt of an address and returns `nil`, or returns the time to wait in ms. Some addresses are not
    /// limited.
    mutating func charge(by address: AddressBlock, at now: Milliseconds) -> Milliseconds? {
        guard address != .none else { return nil }
        expire(now: now)
        if let wait = wait(for: 1, by: address, at: now) { return wait }
        consume(1, by: address, at: now)
        return nil
    }
}

extension EmailAddress {
    /// An address that no account can have.
    static let nobody = EmailAddress("nobody@invalid.invalid")!
}
