import Foundation
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// One history and its faults.
final class AccountHistory {
    /// A user's knowledge of their own account.
    struct Owner {
        let user: String
        var email: String
        let password: String
        var access: String?
    }

    private let accounts: AccountWorld
    var random: SplitMix64
    private let addresses = ["ana@example.org", "bob@example.org", "cy@example.org"]
    private let names = ["Soup", "soup", "Pie", "pie.2", "Rice"]
    private let isAboutNames: Bool
    /// Calls without an answer yet, and the handlers of their answers.
    private var pending: [(call: SimulatedCall, heard: (SimulatedCall) -> Void)] = []
    /// Users whose sign-up or sign-in was answered, by id.
    private var owners: [String: Owner] = [:]
    /// The refresh tokens received, by user, device and number.
    var tokens: [String: [String: [Int64: String]]] = [:]
    private(set) var model = AccountModel()
    var world: World { accounts.world }
    private(set) var faults: [String] = []

    /// - Parameter redis: An instance that earlier histories have used.
    init(seed: UInt64, isAboutNames: Bool = false, redis: SimulatedRedis? = nil) throws {
        self.isAboutNames = isAboutNames
        accounts = try AccountWorld(seed: seed, partitions: 8, redis: redis)
        random = SplitMix64(seed &* 77)
        world.redis.ran = { [weak self] in self?.model.record($0, $1, $2) }
    }

    func pick<Element>(_ elements: [Element]) -> Element { elements.randomElement(using: &random)! }
    private func password(of email: String) -> String { "the password of \(email.prefix(1))z" }

    func ask(
        _ method: String, _ path: String, _ body: [String: Any], token: String? = nil,
        heard: @escaping (SimulatedCall) -> Void = { _ in }
    ) {
        let call = SimulatedCall(method, path, body, token: token, to: pick(world.shards))
        pending.append((call, heard))
    }

    func step() throws {
        if isAboutNames, Int.random(in: 0..<2, using: &random) == 0 { changeName() }
        switch Int.random(in: 0..<19, using: &random) {
        case 0...2: signUp(pick(addresses))
        case 3: signIn(pick(addresses))
        case 4...5: askForAddress()
        case 6...7: verify()
        case 8: deleteAccount()
        case 9: pick(world.shards).cut(.commands)
        case 10 where Int.random(in: 0..<3, using: &random) == 0:
            let place = Int.random(in: 0..<2, using: &random)
            world.shards[place].die()
            world.replaceShard(at: place)
        case 11...14: refresh()
        case 15...16: changePicture()
        // A token is accepted for 10 s after it stopped being the newest.
        case 17 where Int.random(in: 0..<2, using: &random) == 0: try world.run(for: 10_500)
        default: break
        }
        try world.run(for: Milliseconds.random(in: 1...60, using: &random))
        receive()
    }

    private func receive() {
        let answered = pending.filter { $0.call.status != nil }
        pending.removeAll { $0.call.status != nil }
        for (call, heard) in answered { heard(call) }
    }

    private func learn(_ call: SimulatedCall, _ password: String) {
        guard let user = call.json["user"] as? String, let account = call.json["account"] as? [String: Any],
            let email = account["email"] as? String
        else { return }
        owners[user] = Owner(
            user: user, email: email, password: owners[user]?.password ?? password,
            access: call.json["accessToken"] as? String)
        keepToken(call)
    }

    // MARK: Users' actions

    private func signUp(_ email: String) {
        let password = password(of: email)
        var body = ["email": email, "password": password]
        if isAboutNames { body["username"] = pick(names) }
        ask("POST", "/v1/accounts", body) { [unowned self] in
            mustHold([201, 409, 503].contains($0.status), "a sign-up was answered \($0.json)")
            if $0.status == 201 { learn($0, password) }
        }
    }

    private func changeName() {
        guard let owner = someone else { return }
        if Int.random(in: 0..<4, using: &random) == 0 {
            ask("DELETE", "/v1/me/username", [:], token: owner.access)
        } else {
            ask("PUT", "/v1/me/username", ["username": pick(names)], token: owner.access)
        }
    }

    private func signIn(_ email: String) {
        // After a change of address, the password is still that of the first address.
        let password = password(of: pick(addresses))
        ask("POST", "/v1/sessions", ["email": email, "password": password]) { [unowned self] in
            // A user's password belongs to the address of their sign-up.
            let owner = ($0.json["user"] as? String).flatMap { owners[$0] }
            let isRight = $0.status == 200 && (owner == nil || owner?.password == password)
            mustHold(isRight || [401, 429, 503].contains($0.status), "a sign-in was answered \($0.json)")
            if $0.status == 200 { learn($0, password) }
        }
    }

    var someone: Owner? { owners.values.sorted { $0.user < $1.user }.randomElement(using: &random) }

    private func askForAddress() {
        guard let owner = someone else { return }
        ask(
            "POST", "/v1/me/email", ["password": owner.password, "email": pick(addresses)], token: owner.access)
    }

    /// Opens a verification link, perhaps an outdated one.
    private func verify() {
        guard let token = accounts.tokens("verify").suffix(6).randomElement(using: &random) else { return }
        ask("POST", "/v1/emails/verify", ["token": token])
    }

    private func deleteAccount() {
        guard let owner = someone else { return }
        ask("DELETE", "/v1/me", ["password": owner.password], token: owner.access) { [unowned self] in
            let isDone = $0.status == 204
            mustHold(!isDone || model.deleted.contains(owner.user), "\(owner.user) was not deleted")
            mustHold(isDone || [401, 404, 429, 503].contains($0.status), "a deletion was answered \($0.json)")
        }
    }

    // MARK: Checks at the end

    func mustHold(_ isTrue: Bool, _ what: @autoclosure () -> String) {
        if !isTrue { faults.append(what()) }
    }

    /// Waits until no work is under way.
    func settle() throws {
        try world.run(for: 30_000)
        receive()
        try world.run(until: "both servers are live") { world.shards.allSatisfy { $0.logic.link.isLive } }
    }

    func texts(_ command: [String]) throws -> [String?] {
        (try world.redis.command(command).get().array ?? []).map(\.string)
    }

    private func waitUntilNothingIsUnfinished() throws {
        let partitions = world.shards[0].logic.partitions
        try world.run(until: "nothing is unfinished", within: 120_000) {
            (0..<partitions.count).allSatisfy {
                (try? self.world.redis.command(["SCARD", partitions.keys($0).unfinished]).get().int) == 0
            }
        }
    }

    /// Checks that records, claims, accounts and profiles agree and that no work is left.
    func checkNames() throws {
        try waitUntilNothingIsUnfinished()
        var owners: [String: String] = [:]
        for key in try texts(["KEYS", "*:user:*"]).compactMap(\.self) {
            let user = try #require(UserID(String(key.split(separator: ":", maxSplits: 2)[2])))
            let record = try texts(["HMGET", key, "held", "heldAs", "claim", "wish", "email", "profile"])
            mustHold(record[3] == nil, "the wish of \(user) is open")
            let shown = record[1] ?? record[0]
            mustHold(record[0] == nil || record[4] != nil, "the name of \(user), who has no account")
            let profile = record[5] ?? ""
            mustHold(profile.contains(#""username":"\#(shown ?? "")""#) == (shown != nil), "the profile: \(profile)")
            guard let held = record[0], let number = record[2] else { continue }
            mustHold(held == shown?.lowercased() && owners[held] == nil, "\(held) is shown as \(shown ?? "nothing")")
            owners[held] = "\(user) \(number)"
        }
        var claims: [String: String] = [:]
        for key in try texts(["KEYS", "*:name:*"]).compactMap(\.self) {
            let words = try texts(["HGETALL", key]).compactMap(\.self)
            for place in stride(from: 0, to: words.count - 1, by: 2) { claims[words[place]] = words[place + 1] }
        }
        mustHold(claims == owners, "the claims \(claims) of the owners \(owners)")
        for name in Set(names.map { $0.lowercased() }) {
            let call = try accounts.call("GET", "/v1/usernames/\(name)")
            mustHold(call.json["available"] as? Bool == (claims[name] == nil), "\(name) is said to be what it is not")
        }
    }

    func check() throws {
        try waitUntilNothingIsUnfinished()
        faults += model.faults
        try checkPictures()
        var holders: [String: String] = [:]
        for key in try texts(["KEYS", "*:user:*"]).compactMap(\.self) {
            let fields = try texts(["HMGET", key, "email", "emailClaim", "emailWanted", "emailReleasing"])
            mustHold(fields[2] == nil && fields[3] == nil, "a change of address is left open")
            guard let email = fields[0] else { continue }
            let claim = fields[1] ?? "0"
            let user = String(key.split(separator: ":", maxSplits: 2)[2])
            mustHold(holders[email] == nil, "two accounts have \(email)")
            holders[email] = user
            let addresses = try #require(world.shards[0].logic.feature(Accounts.self)?.logins)
            let claims = addresses.keys(of: email).emails(with: EmailAddress(email)!)
            let claimed = try world.redis.command(["HGET", claims, email]).get()
            mustHold(claimed.string == "\(user) \(claim)", "the claim of \(email)")
        }
        for email in addresses {
            let call = try accounts.call("POST", "/v1/accounts", ["email": email, "password": "a password of mine"])
            if let holder = holders[email] {
                mustHold(call.status == 409, "\(email) is \(holder)'s: \(call.json)")
            } else {
                mustHold(call.status == 201, "nobody has \(email): \(call.json)")
            }
        }
    }
}
