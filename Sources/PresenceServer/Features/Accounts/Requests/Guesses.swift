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
    fileprivate let shards: String
    fileprivate let key: String
    /// The record as this try left it: until when no other was looked at, and when the first was counted.
    fileprivate let blocked: String
    fileprivate let began: String

    private var shard: ShardLogic { accounts.shard }

    /// The password was right: forgets the failures for the address, and calls back. What is answered afterwards is true on
    /// every server. If the store refuses, the failures before it stay, and only this one is taken back. Many people may sign in
    /// from one address: for the client's address it is taken back too.
    func forget(then done: @escaping () -> Void) {
        accounts.tries.giveBack(1, to: address)
        shard.store.command(["DEL", key], lane: .commands) { result in
            if result.failure != nil { takeBack() }
            done()
        }
    }

    /// The password was wrong: that counts for the client's address too.
    func fail() {
        guard address != .none else { return }
        accounts.guesses.take(1, by: address, at: shard.clock.now)
    }

    /// It was not looked at, and never will be: the client went, or the call was refused. Nobody has learnt anything by it. Or it
    /// was right, and the store did not take what follows from that. If the store cannot be reached either, it stays counted.
    func takeBack() {
        shard.store.run(
            .takeBackGuess, keys: [shards, key],
            arguments: [shard.link.incarnation, String(Accounts.guessMemory), blocked, began], lane: .commands
        ) { [accounts] result in accounts.shard.link.noticeFencing(in: result) }
    }
}

extension Accounts {
    /// Counts a try of a password, before it is looked at, for an address that somebody has or not.
    ///
    /// Keep a place among the hashes before: then what is refused because too many wait costs no call of Redis.
    ///
    /// - Parameter counted: Whose address it is, and the try: a call that is refused without its password having been looked at takes
    ///   it back.
    func countGuess(
        _ call: HTTPCall, _ email: EmailAddress?, named name: String,
        counted: @escaping (_ user: UserID?, _ guess: Guess) -> Void
    ) {
        guard let places else { return call.refuseUnavailable() }
        let keys = places.keys(of: name)
        let key = keys.guesses(places.guesses(of: name))
        guesses.expire(now: shard.clock.now)
        if let wait = guesses.wait(for: 1, by: call.address, at: shard.clock.now)
            ?? tries.take(by: call.address, at: shard.clock.now)
        {
            return call.refuse(
                .guesses, retryAfter: wait, "too many passwords are tried from this address: it was not looked at")
        }
        call.ask {
            shard.store.run(
                .guess, keys: [keys.shards, key, keys.emails(with: email ?? .nobody)],
                arguments: [shard.link.incarnation, String(Self.guessMemory), (email ?? .nobody).text], lane: .commands,
                reply: $0)
        } answered: { [self] value in
            let words = value.array ?? []
            switch words.first?.string {
            case "WAIT":
                let wait = max(1, words.last?.int ?? 1_000)
                call.refuse(retryAfter: wait, "too many wrong passwords: this one was not looked at")
            case "OK" where words.count > 3:
                let guess = Guess(
                    accounts: self, address: call.address, shards: keys.shards, key: key,
                    blocked: words[2].string ?? "", began: words[3].string ?? "")
                counted(words[1].string.flatMap { EmailClaim($0)?.user }, guess)
            default: call.refuse(500, .internal, "the server could not do this")
            }
        }
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
