import PresenceCore
import PresenceProtocol

/// The keys of accounts. README.md beside this file has the contents of each.
extension KeyFamily {
    /// The owners of a bucket of addresses. A bucket's partition is the one of its addresses' hash, and so is the partition of
    /// a user who signs up with the address.
    static let email = KeyFamily(name: "email", isPassing: false, type: "hash", isPlacedApart: true)
    /// The signed-in devices.
    static let grants = KeyFamily(name: "grants", isPassing: false, type: "hash")
    /// Failed passwords for an address, under its hash, so that guesses do not store addresses.
    static let guesses = KeyFamily(
        name: "guesses", isPassing: true, type: "string", expires: true, isPlacedApart: true)
    /// The mails to be sent.
    static let mail = KeyFamily(name: "mail", isPassing: false, type: "list", isOfPartition: true)
    /// The mails that a server has leased, by the time from which another server may lease them.
    static let mailing = KeyFamily(name: "mailing", isPassing: false, type: "zset", isOfPartition: true)

    /// The guests, by the time of their last use.
    static let guests = KeyFamily(name: "guests", isPassing: false, type: "zset", isOfPartition: true)

    /// The code that was mailed to an address, under its hash.
    static let codes = KeyFamily(name: "codes", isPassing: true, type: "hash", expires: true, isPlacedApart: true)

    /// The owners of a bucket of providers' identities, by the digest of issuer and subject, which chooses the partition.
    static let identities = KeyFamily(name: "identity", isPassing: false, type: "hash", isPlacedApart: true)

    /// The identity behind a code that a browser has got, under the code's hash.
    static let signInCodes = KeyFamily(
        name: "signin", isPassing: true, type: "string", expires: true, isPlacedApart: true)

    static let accounts: [KeyFamily] = [
        .email, .grants, .guesses, .mail, .mailing, .guests, .codes, .identities, .signInCodes,
    ]
}

extension PartitionKeys {
    /// The hash that contains the owner of an address.
    func emails(with address: EmailAddress) -> String { bucket(.email, of: address.text) }
    /// The hash that contains the owner of an identity, by its digest.
    func identities(with digest: String) -> String { bucket(.identities, of: digest) }
    /// An account is stored in its user's hash, because each key costs Redis 100 bytes.
    func account(_ id: UserID) -> String { user(id) }
    func guesses(_ id: Identifier) -> String { key(.guesses, id) }
    func codes(_ id: Identifier) -> String { key(.codes, id) }
    func signInCode(_ id: Identifier) -> String { key(.signInCodes, id) }
    var mail: String { "\(name):mail" }
    var mailing: String { "\(name):mailing" }
    var guests: String { "\(name):guests" }
}
