import Foundation
import Installation
import Passwords
import PresenceCore
import PresenceProtocol
import Redis

/// The account commands of `presenced user`. They run the servers' scripts on the Redis of running servers, so that all servers
/// get the events.
///
/// The scripts let only servers write. So for each script the console becomes a server: it joins the partition, runs the script
/// and leaves, in one transaction. Nothing is left if the console dies.
///
/// To be used from one thread. It blocks on Redis, so it is for tools and never for a loop.
public struct AccountConsole {
    private let place: ConsoleStore
    var store: DoctorStore { place.store }
    var partitions: Partitions { place.partitions }
    private let configuration: ServerConfiguration

    /// How many keys one step of a list reads.
    private static let step = "200"

    /// - Throws: ``ConsoleFailure`` if Redis cannot be reached, or no server of this version has used it.
    public init(url: String, configuration: ServerConfiguration) throws(ConsoleFailure) {
        place = try ConsoleStore(url: url, configuration: configuration)
        self.configuration = configuration
    }

    // MARK: Reading

    /// Lists all accounts, in no particular order.
    ///
    /// - Parameter found: Called with each account as it is found, because there may be millions.
    public func list(_ found: (Account) throws -> Void) throws {
        // `SCAN` may return a key twice.
        var known: Set<UserID> = []
        for server in store.servers {
            var cursor = "0"
            repeat {
                let answer = try server.run("SCAN", cursor, "COUNT", Self.step).array ?? []
                guard answer.count == 2, let next = answer[0].string else { return }
                cursor = next
                for key in (answer[1].array ?? []).compactMap(\.string) {
                    guard case .user(let user, _) = KeyName(key, in: partitions.space, KeyFamily.accounts),
                        known.insert(user).inserted, let account = try account(of: user)
                    else { continue }
                    try found(account)
                }
            } while cursor != "0"
        }
    }

    /// Finds an account by user id, address or username.
    ///
    /// - Throws: ``ConsoleFailure`` if there is none.
    public func find(_ name: String) throws -> Account {
        if let user = try user(named: name), let account = try account(of: user) { return account }
        throw ConsoleFailure("there is no account of \(name)")
    }

    func user(named name: String) throws -> UserID? {
        if let email = EmailAddress(name) {
            guard let logins = try logins() else { return nil }
            let key = logins.keys(of: email.text).emails(with: email)
            let claim = try store[key].run("HGET", key, email.text).string.flatMap { AccountClaim($0) }
            guard let claim, try account(of: claim.user)?.email == email.text else { return nil }
            return claim.user
        }
        if let user = UserID(name), try account(of: user) != nil { return user }
        guard let username = Username(name) else { return nil }
        let key = Usernames.names.claims(on: username.name, in: partitions.keys(of: username.name))
        let owner = try store[key].run("HGET", key, username.name.string).string?.split(separator: " ").first.flatMap {
            UserID(String($0))
        }
        guard let owner, try account(of: owner)?.username?.lowercased() == username.name.string else { return nil }
        return owner
    }

    private func account(of user: UserID) throws -> Account? {
        let keys = partitions.keys(of: user)
        let words = try store[keys.shards].run(
            "HMGET", keys.user(user), "email", "held", "heldAs", "verified", "disabled", "profile", "version")
        let texts = (words.array ?? []).map(\.string)
        guard texts.count == 7, texts[6] != nil else { return nil }
        return Account(
            user: user.string, email: texts[0], username: texts[2] ?? texts[1], emailVerified: texts[3] != nil,
            disabled: texts[4] != nil, createdAt: texts[5].map { Array($0.utf8) }.flatMap(ProfileBody.createdAt) ?? 0)
    }

    // MARK: Changing

    /// Creates an account without sending a mail. Its owner verifies the address with the first reset, unless the server hides
    /// accounts: then the address counts as verified.
    ///
    /// - Returns: The new user's id.
    /// - Throws: ``ConsoleFailure`` if the address is invalid or taken, or the password or the name breaks the rules.
    public func create(_ address: String, password: String, displayName: String?) throws -> String {
        guard let email = EmailAddress(address) else { throw ConsoleFailure("\(address) is not an e-mail address") }
        try check(password, names: [email.local])
        let name = displayName.map(FreeText.trimmed) ?? configuration.defaultDisplayName(of: email)
        if let rule = DisplayName.brokenRule(by: name) { throw ConsoleFailure("the display name \(rule)") }
        guard let logins = try logins(making: true) else {
            throw ConsoleFailure("the key of addresses is damaged")
        }
        let user = drawUser(in: logins.partition(of: email.text))
        let keys = partitions.keys(of: user)
        let reply = try run(
            ScriptCall(
                .signUp, in: keys, keys.ofSignUp(user, email),
                [
                    "intent": "", "user": user, "number": "", "address": email.text,
                    "password": PasswordHash(of: password).bytes.hexadecimal,
                    "displayName": JSONWriter.encoded(name), "idempotency": "", "repetition": 0, "grant": "",
                    "secret": "", "kind": "", "name": "", "digest": "-", "lifetime": 0, "text": "",
                    "isVerified": isVouching, "device": "", "language": "",
                ]), keys)
        guard reply.word == "OK" else { throw ConsoleFailure("\(email.text) has an account already") }
        return user.string
    }

    /// Disables the account and signs it out everywhere, or enables it again.
    public func setDisabled(_ isDisabled: Bool, _ account: Account) throws {
        let (user, keys) = subject(of: account)
        try expectOK(try run(keys.disabling(user, isDisabled), keys), account)
    }

    /// Sets the password, signs the account out everywhere, and clears the failed attempts that would block its owner.
    public func setPassword(_ password: String, _ account: Account) throws {
        guard let address = account.email else { throw ConsoleFailure("a guest has no password") }
        guard let email = EmailAddress(address) else { throw ConsoleFailure("the account is damaged") }
        try check(password, names: [email.local] + (account.username.map { [$0] } ?? []))
        let (user, keys) = subject(of: account)
        let held = try store[keys.shards].run("HGET", keys.user(user), "password").bytes ?? []
        let reply = try run(
            ScriptCall(
                .setPassword, in: keys, ["user": keys.user(user), "grants": keys.grants(user), "mail": keys.mail],
                [
                    "user": user, "compared": held.hexadecimal,
                    "password": PasswordHash(of: password).bytes.hexadecimal, "stays": "", "text": "",
                    "isVerified": isVouching, "grant": "", "secret": "",
                ]), keys)
        try expectOK(reply, account)
        guard let logins = try logins() else { return }
        let guesses = logins.keys(of: email.text).guesses(logins.guesses(of: email.text))
        _ = try store[guesses].run("DEL", guesses)
    }

    /// If accounts are hidden, only verified addresses can sign in. An operator who sets a password vouches for the owner of
    /// the address: without a mail server, no address can be verified otherwise.
    private var isVouching: Bool { configuration[Accounts.hideExisting] }

    /// Deletes the account. The servers' sweeps release its username and, if its address was changed, the address. A request
    /// for that address also releases it at once.
    public func delete(_ account: Account) throws {
        let email = account.email.flatMap { EmailAddress($0) }
        guard let logins = try logins(), account.email == nil || email != nil else {
            throw ConsoleFailure("the account is damaged")
        }
        let (user, keys) = subject(of: account)
        let isHere = email.map { logins.partition(of: $0.text) == partitions.index(of: user) } ?? false
        try expectOK(try run(keys.deletion(of: user, isHere ? email! : .nobody), keys), account)
    }

    private func subject(of account: Account) -> (UserID, PartitionKeys) {
        // The id was parsed when the account was read.
        let user = UserID(account.user)!
        return (user, partitions.keys(of: user))
    }

    private func expectOK(_ reply: ScriptReply, _ account: Account) throws(ConsoleFailure) {
        switch reply.word {
        case "OK": return
        case "NONE": throw ConsoleFailure("there is no account of \(account.user) any more")
        default: throw ConsoleFailure("the account was changed meanwhile: nothing was done")
        }
    }

    private func check(_ password: String, names: [String]) throws {
        let rules = PasswordRules(
            minimum: configuration[Accounts.passwordMinimum],
            blocked: PasswordRules.list(try Accounts.blockedPasswords(configuration)))
        if let rule = rules.brokenRule(by: password, names: names) { throw ConsoleFailure("the password \(rule)") }
    }

    private func drawUser(in partition: Int) -> UserID {
        while true {
            let id = UserID("u-" + Sodium.random(16).hexadecimal)!
            if partitions.index(of: id) == partition { return id }
        }
    }

    /// `nil` if no server with accounts has run yet, or the key is damaged.
    private func logins(making: Bool = false) throws -> LoginPartitions? {
        let name = partitions.space.addressKey
        if making {
            _ = try store[name].run("SET", name, Sodium.random(LoginPartitions.keyBytes).hexadecimal, "NX")
        }
        let key = try store[name].run("GET", name).string.flatMap { [UInt8](hexadecimal: $0) }
        guard let key, key.count == LoginPartitions.keyBytes else { return nil }
        return LoginPartitions(key: key, partitions: partitions)
    }

    private func run(_ call: ScriptCall, _ keys: PartitionKeys) throws -> ScriptReply {
        try place.run(call, in: keys, configuration)
    }
}

extension AccountConsole {
    /// An account, as administrators see it.
    public struct Account: Encodable, Sendable {
        public let user: String
        /// `nil` for a guest.
        public let email: String?
        public let username: String?
        public let emailVerified: Bool
        public let disabled: Bool
        /// In ms since 1970.
        public let createdAt: Int64
    }
}

/// The reason why the console could not do something, for its user.
public struct ConsoleFailure: Error, CustomStringConvertible {
    public let description: String
    public init(_ description: String) { self.description = description }
}
