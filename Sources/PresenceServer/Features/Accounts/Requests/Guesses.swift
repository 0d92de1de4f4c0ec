import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// A try of a password that is counted for an address, and still to be looked at.
///
/// What it holds on to is one record in Redis, so each of these is called once, and after it the other does nothing.
struct Guess {
    fileprivate let accounts: Accounts
    /// The address of the client.
    fileprivate let address: AddressBlock
    fileprivate let keys: PartitionKeys
    fileprivate let key: String
    /// The record as this try left it: until when no other was looked at, and when the first was counted.
    fileprivate let blocked: String
    fileprivate let began: String

    private var shard: ShardLogic { accounts.shard }

    /// The password was right: forgets the failures for the address. What is answered afterwards is true on
    /// every server. If the store refuses, the failures before it stay, and only this one is taken back. Many people may sign in
    /// from one address: for the client's address it is taken back too.
    func forget() async {
        accounts.tries.giveBack(1, to: address)
        do { _ = try await shard.command(["DEL", key]) } catch { takeBack() }
    }

    /// The password was wrong: that counts for the client's address too.
    func fail() {
        guard address != .none else { return }
        accounts.guesses.take(1, by: address, at: shard.clock.now)
    }

    /// It was not looked at, and never will be: the client went, or the call was refused. Nobody has learnt anything by it. Or it
    /// was right, and the store did not take what follows from that. If the store cannot be reached either, it stays counted.
    func takeBack() {
        let call = ScriptCall(
            .takeBackGuess, in: keys, ["guesses": key],
            ["memory": Accounts.guessMemory, "wasBlocked": blocked, "hadBegun": began])
        shard.run(call) { [accounts] result in accounts.shard.link.noticeFencing(in: result) }
    }

    /// Takes it back if what is under way for it is refused.
    func takenBack<Value>(
        ifRefused perform: () async throws(Refusal) -> Value
    ) async throws(Refusal) -> Value {
        do throws(Refusal) {
            return try await perform()
        } catch {
            takeBack()
            throw error
        }
    }
}

extension Accounts {
    /// Counts a try of a password, before it is looked at, for an address that somebody has or not.
    ///
    /// Keep a place among the hashes before: then what is refused because too many wait costs no call of Redis.
    ///
    /// - Returns: Whose address it is, and the try: a call that is refused without its password having been looked at takes it
    ///   back.
    func countGuess(
        _ call: HTTPCall, _ email: EmailAddress?, named name: String
    ) async throws(Refusal) -> (user: UserID?, guess: Guess) {
        guard let addresses else { throw .noStore }
        let keys = addresses.keys(of: name)
        let key = keys.guesses(addresses.guesses(of: name))
        guesses.expire(now: shard.clock.now)
        if let wait = guesses.wait(for: 1, by: call.address, at: shard.clock.now)
            ?? tries.take(by: call.address, at: shard.clock.now)
        {
            throw call.met(
                .guesses, retryAfter: wait, "too many passwords are tried from this address: it was not looked at")
        }
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
        return (reply[0].string.flatMap { EmailClaim($0)?.user }, guess)
    }
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
