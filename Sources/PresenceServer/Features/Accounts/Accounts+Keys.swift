import PresenceCore
import PresenceProtocol

/// The keys of accounts. README.md beside this file has the contents of each.
extension KeyFamily {
    /// Whose addresses are, some in each. Its partition is that of the address' hash, and so is that of the user who signs up
    /// with it.
    static let email = KeyFamily(name: "email", isPassing: false, type: "hash", isPlacedApart: true)
    /// The devices that are signed in.
    static let grants = KeyFamily(name: "grants", isPassing: false, type: "hash")
    /// Passwords tried for an address, by its hash: nobody's address is kept for having been guessed at.
    static let guesses = KeyFamily(
        name: "guesses", isPassing: true, type: "string", expires: true, isPlacedApart: true)
    /// Mails that are to be sent.
    static let mail = KeyFamily(name: "mail", isPassing: false, type: "list", isOfPartition: true)
    /// Those that a server has taken, by the time from which on another may.
    static let mailing = KeyFamily(name: "mailing", isPassing: false, type: "zset", isOfPartition: true)

    static let accounts: [KeyFamily] = [.email, .grants, .guesses, .mail, .mailing]
}

extension PartitionKeys {
    /// The hash in which it says whose an address is.
    func emails(with address: EmailAddress) -> String { bucket(.email, of: address.text) }
    /// An account is in its user's own hash: a key costs Redis 100 bytes.
    func account(_ id: UserID) -> String { user(id) }
    func guesses(_ id: Identifier) -> String { key(.guesses, id) }
    var mail: String { "\(name):mail" }
    var mailing: String { "\(name):mailing" }
}
