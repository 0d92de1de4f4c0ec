import Foundation
import Passwords
import PresenceProtocol
import Redis

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// An account as it is stored.
struct StoredAccount {
    static let fields = ["version", "email", "verified", "password", "identities", "guest"]
    let email: String?
    let isVerified: Bool
    let password: [UInt8]?
    let identities: [LinkedIdentity]
    let isGuest: Bool

    /// `nil` if there is no account.
    init?(_ answer: RedisValue) {
        let values = answer.array ?? []
        guard values.count == Self.fields.count, !values[0].isNull else { return nil }
        (email, isVerified, password) = (values[1].string, !values[2].isNull, values[3].bytes)
        identities = LinkedIdentity.all(in: values[4].string ?? "")
        isGuest = !values[5].isNull
    }

    /// Whether its user can sign in again.
    var hasWayIn: Bool { email != nil && (password != nil || isVerified) || !identities.isEmpty }
}

/// The past of a history's accounts, by user.
struct SignInPast {
    /// The holders of accounts, each since some time. An account is its maker's until the owner of its address proves the address.
    private var holders: [String: [(since: Milliseconds, person: String?)]] = [:]
    var deleted: Set<String> = []
    var banned: Set<String> = []
    var disabled: Set<String> = []
    /// The mail of each code and link, by digest, and the mails that were used.
    var mails: [String: Int] = [:]
    var usedMails: Set<Int> = []

    var users: [String] { holders.keys.sorted() }
    func holder(of user: String) -> String? { holders[user]?.last?.person }
    func name(_ user: String) -> String { "\(user) of \(holder(of: user) ?? "nobody")" }

    mutating func hold(_ user: String, _ person: String?, at now: Milliseconds) {
        guard holder(of: user) != person else { return }
        holders[user, default: []].append((now, person))
    }

    /// Whether a person held the account at some moment since then.
    func held(_ user: String, _ person: String, since: Milliseconds) -> Bool {
        let log = holders[user] ?? []
        return log.indices.contains { log[$0].person == person && ($0 + 1 == log.count || log[$0 + 1].since >= since) }
    }
}

/// The rules that must hold after each script.
extension SignInHistory {
    /// The user that a script changes, by the place of its argument. Three arguments are those of all scripts.
    private static let subjects: [Script: Int] = [
        .signUp: 4, .signUpIdentity: 3, .addIdentity: 3, .switchEmail: 3, .enter: 3, .enterIdentity: 3, .verifyEmail: 3,
        .resetPassword: 3, .setPassword: 3, .dropIdentities: 4, .deleteAccount: 3, .refreshGrant: 3, .signIn: 3,
        .disableAccount: 3, .ban: 3, .unban: 3,
    ]

    func stored(_ user: String) -> StoredAccount? {
        guard let id = UserID(user),
            let answer = try? redis.ask(["HMGET", partitions.keys(of: id).user(id)] + StoredAccount.fields).get()
        else { return nil }
        return StoredAccount(answer)
    }

    func willRun(_ script: Script, _ arguments: [String]) {
        guard let place = Self.subjects[script], arguments.count > place else { return }
        before = stored(arguments[place])
    }

    func ran(_ script: Script, _ arguments: [String], _ answer: Result<RedisValue, RedisFailure>) {
        guard case .success(let value) = answer, value.array?.first?.string == "OK", arguments.count > 3 else { return }
        if script == .askMailCode { return record(codesOf: arguments) }
        if script == .useMailCode { return checkUse(of: arguments) }
        guard let place = Self.subjects[script], arguments.count > place else { return }
        let user = arguments[place]
        let after = stored(user)
        switch script {
        case .signUp: made(user, by: arguments[8])
        case .signUpIdentity: made(user, by: arguments[7])
        case .enter where before?.isVerified != true:
            count("takeovers")
            past.hold(user, Self.owner(of: arguments[4]), at: world.now)
        case .resetPassword:
            count("resets")
            past.hold(user, after?.email.flatMap(Self.owner(of:)), at: world.now)
        case .addIdentity: count("links")
        case .dropIdentities: count("unlinks")
        case .deleteAccount: deleted(user, unused: arguments[5])
        case .disableAccount: if arguments[4] == "1" { past.disabled.insert(user) } else { past.disabled.remove(user) }
        case .ban: past.banned.insert(user)
        case .unban: past.banned.remove(user)
        default: break
        }
        if [.enter, .enterIdentity, .signIn, .refreshGrant].contains(script) {
            if past.banned.contains(user) { fail("\(script) of \(user), who is banned") }
            if past.disabled.contains(user) { fail("\(script) of \(user), who is disabled") }
        }
        check(user, after, script)
    }

    private func made(_ user: String, by name: String) {
        count("made")
        past.hold(user, name.trimmingCharacters(in: ["\""]), at: world.now)
    }

    private func deleted(_ user: String, unused: String) {
        count("deleted")
        if Int(unused) != nil {
            count("swept")
            if before?.isGuest != true || before?.hasWayIn == true {
                fail("\(past.name(user)), who is no guest, was swept")
            }
        }
        past.deleted.insert(user)
        past.hold(user, nil, at: world.now)
    }

    private func check(_ user: String, _ account: StoredAccount?, _ script: Script) {
        guard let account else {
            if before != nil, script != .deleteAccount { fail("\(script) has lost \(past.name(user))") }
            return
        }
        let holder = past.holder(of: user)
        if past.deleted.contains(user) { fail("\(script) has made \(user) again") }
        if let password = account.password, knower(of: password) != holder {
            fail("the password of \(past.name(user)) is that of \(knower(of: password) ?? "nobody")")
        }
        for identity in account.identities where owner(ofIdentity: identity.digest) != holder {
            fail("an identity of \(past.name(user)) is that of \(owner(ofIdentity: identity.digest) ?? "nobody")")
        }
        if account.isVerified, account.email.flatMap(Self.owner(of:)) != holder {
            fail("\(past.name(user)) has \(account.email ?? "no address") as verified")
        }
        if account.isGuest == account.hasWayIn {
            fail(
                "after \(script), \(past.name(user)) is a guest: \(account.isGuest), has a way in: \(account.hasWayIn)")
        }
    }

    // MARK: Codes by mail

    private func record(codesOf arguments: [String]) {
        // The same again, if the reply was lost.
        let mail = past.mails[arguments[5]] ?? past.mails.count
        (past.mails[arguments[4]], past.mails[arguments[5]]) = (mail, mail)
    }

    private func checkUse(of arguments: [String]) {
        count("codes")
        guard let mail = past.mails[arguments[4].isEmpty ? arguments[5] : arguments[4]] else {
            return fail("a code that was never mailed has signed in")
        }
        if !past.usedMails.insert(mail).inserted { fail("a code was used twice") }
    }

    // MARK: Proofs

    static func owner(of address: String) -> String? { people.first { $0.addresses.contains(address) }?.name }

    func knower(of password: [UInt8]) -> String? {
        if let known = knowers[password] { return known }
        let knower = Self.people.first { person in
            person.passwords.contains { PasswordHash(password)?.matches($0) == true }
        }?.name
        knowers[password] = knower
        return knower
    }

    func owner(ofIdentity digest: String) -> String? {
        guard let addresses = world.shards.lazy.compactMap({ $0.logic.feature(Accounts.self)?.logins }).first else {
            return nil
        }
        return Self.people.first { person in
            person.identities.contains {
                addresses.identity(SimulatedProvider.issuer(of: $0.provider), $0.subject) == digest
            }
        }?.name
    }
}
