import Foundation
import Passwords
import PresenceProtocol
import Redis
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// One history of guests and of codes by mail, and its faults.
final class GuestHistory {
    private struct Guest {
        var access: String
        var refreshes: [String]
        /// The address and password of an answered upgrade.
        var upgrade: (email: String, password: String)?
        /// Whether an upgrade may have been made without an answer.
        var hasUnknownUpgrade = false
    }

    static let keep: Milliseconds = 600_000
    private let accounts: AccountWorld
    private var random: SplitMix64
    private let addresses = ["ana@example.org", "bob@example.org", "cy@example.org"]
    private var pending: [(call: SimulatedCall, heard: (SimulatedCall) -> Void)] = []
    private var guests: [String: Guest] = [:]
    /// The last use of each guest by Redis' clock, as the scripts recorded it.
    private var used: [String: Timestamp] = [:]
    private var gone: Set<String> = []
    private var upgraded: Set<String> = []
    private var usedCodes: Set<String> = []
    /// Users who signed in with a code. The first proof of an address ends the password of an upgrade.
    private var proved: Set<String> = []
    private var world: World { accounts.world }
    private(set) var faults: [String] = []
    private(set) var swept = 0, upgrades = 0, entered = 0

    init(seed: UInt64, redis: SimulatedRedis?) throws {
        accounts = try AccountWorld(seed: seed, partitions: 4, redis: redis) {
            $0[Accounts.guests] = true
            $0[Accounts.keepGuests] = Self.keep
            $0[Accounts.mailCodeSignUp] = true
        }
        random = SplitMix64(seed &* 79)
        world.redis.ran = { [weak self] in self?.record($0, $1, $2) }
    }

    // MARK: The model

    /// Scripts have the time first, and their own arguments after the channel and the incarnation.
    private func record(_ script: Script, _ arguments: [String], _ answer: Result<RedisValue, RedisFailure>) {
        guard case .success(let value) = answer, let words = value.array, words.first?.string == "OK",
            arguments.count > 3, let now = Timestamp(arguments[0])
        else { return }
        let user = arguments[3]
        switch script {
        case .signUp where arguments[6].isEmpty: used[arguments[4]] = now
        case .refreshGrant where used[user] != nil && !upgraded.contains(user): used[user] = now
        case .switchEmail where used[user] != nil: upgraded.insert(user)
        case .deleteAccount:
            gone.insert(user)
            guard let unused = Timestamp(arguments[5]) else { return }
            swept += 1
            mustHold(!upgraded.contains(user), "\(user), who is no guest any more, was swept")
            mustHold((used[user] ?? now) + unused <= now, "\(user) was swept, and in use")
        case .useMailCode:
            entered += 1
            let code = arguments[4] + arguments[5]
            mustHold(usedCodes.insert(code).inserted, "a code was used twice")
        case .enter: proved.insert(user)
        default: break
        }
    }

    private func mustHold(_ isTrue: Bool, _ what: @autoclosure () -> String) {
        if !isTrue { faults.append(what()) }
    }

    private func pick<Element>(_ elements: [Element]) -> Element { elements.randomElement(using: &random)! }
    private func chance(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &random) == 0 }
    private var someone: String? { guests.keys.filter { !gone.contains($0) }.sorted().randomElement(using: &random) }

    // MARK: Steps

    private func ask(
        _ method: String, _ path: String, _ body: [String: Any], token: String? = nil,
        heard: @escaping (SimulatedCall) -> Void = { _ in }
    ) {
        pending.append((SimulatedCall(method, path, body, token: token, to: pick(world.shards)), heard))
    }

    func step() throws {
        switch Int.random(in: 0..<16, using: &random) {
        case 0...1: signUp()
        case 2...4: upgrade()
        case 5...6: refresh(someone)
        case 7: deleteGuest()
        case 8: pick(world.shards).cut(.commands)
        case 9 where chance(3):
            let place = Int.random(in: 0..<2, using: &random)
            world.shards[place].die()
            world.replaceShard(at: place)
        // Guests become due, and some are used just then.
        case 10...11:
            world.redisEpoch += Self.keep / 2
            if chance(2) { for user in guests.keys.sorted() where chance(2) { refresh(user) } }
            try world.run(for: Milliseconds.random(in: 1...3_000, using: &random))
        case 12: ask("POST", "/v1/signin/mail", ["email": pick(addresses)])
        case 13...14: enter()
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

    private func signUp() {
        ask("POST", "/v1/accounts", ["guest": true]) { [unowned self] in
            mustHold([201, 503].contains($0.status), "a guest's sign-up was answered \($0.json)")
            guard let user = $0.json["user"] as? String, let access = $0.json["accessToken"] as? String,
                let refresh = $0.json["refreshToken"] as? String
            else { return }
            guests[user] = Guest(access: access, refreshes: [refresh])
        }
    }

    /// One upgrade, or two at once.
    private func upgrade() {
        guard let user = someone else { return }
        for _ in 0..<(chance(2) ? 2 : 1) {
            let (email, password) = (pick(addresses), "a long password \(Int.random(in: 0..<1_000, using: &random))")
            ask("POST", "/v1/me/upgrade", ["email": email, "password": password], token: guests[user]!.access) {
                [unowned self] in
                mustHold(
                    [200, 401, 404, 409, 429, 503].contains($0.status), "an upgrade was answered \($0.json)")
                if $0.status == 503 { guests[user]!.hasUnknownUpgrade = true }
                guard $0.status == 200 else { return }
                upgrades += 1
                let account = $0.json["account"] as? [String: Any] ?? [:]
                mustHold(account["guest"] == nil, "a guest that was upgraded: \(account)")
                mustHold(guests[user]!.upgrade == nil, "\(user) was upgraded twice")
                guests[user]!.upgrade = (email, password)
            }
        }
    }

    private func refresh(_ user: String?) {
        guard let user, let token = guests[user]?.refreshes.last else { return }
        ask("POST", "/v1/sessions/refresh", ["refreshToken": token]) { [unowned self] in
            mustHold([200, 401, 503].contains($0.status), "a refresh was answered \($0.json)")
            guard let access = $0.json["accessToken"] as? String, let next = $0.json["refreshToken"] as? String else {
                return
            }
            guests[user]?.access = access
            guests[user]?.refreshes.append(next)
        }
    }

    private func deleteGuest() {
        guard let user = someone, chance(2) else { return }
        ask("DELETE", "/v1/me", [:], token: guests[user]!.access) { [unowned self] in
            mustHold([204, 400, 401, 404, 409, 503].contains($0.status), "a deletion was answered \($0.json)")
            mustHold($0.status != 204 || gone.contains(user), "\(user) was not deleted")
        }
    }

    /// Signs in with a link from a mail, perhaps an outdated one.
    private func enter() {
        let mails = accounts.mails().filter { $0.contains("/signin#") }
        guard let mail = mails.suffix(4).randomElement(using: &random) else { return }
        let link = mail.components(separatedBy: "/signin#email=")[1].prefix { !$0.isWhitespace }
        let parts = String(link).components(separatedBy: "&token=")
        ask("POST", "/v1/sessions", ["email": parts[0], "mailCode": parts[1]]) { [unowned self] in
            mustHold([200, 201, 401, 429, 503].contains($0.status), "a code was answered \($0.json)")
            guard let account = $0.json["account"] as? [String: Any] else { return }
            mustHold(account["email"] as? String == parts[0], "the code of \(parts[0]) signed in \(account)")
        }
    }

    // MARK: The end

    func check() throws {
        try world.run(for: 30_000)
        receive()
        try world.run(until: "both servers are live") { world.shards.allSatisfy { $0.logic.link.isLive } }
        let partitions = world.shards[0].logic.partitions
        try world.run(until: "nothing is unfinished", within: 120_000) {
            (0..<partitions.count).allSatisfy {
                (try? self.world.redis.command(["SCARD", partitions.keys($0).unfinished]).get().int) == 0
            }
        }
        try checkAddresses()
        for (user, guest) in guests.sorted(by: { $0.key < $1.key }) {
            guard let upgrade = guest.upgrade, !guest.hasUnknownUpgrade, !gone.contains(user), !proved.contains(user)
            else { continue }
            let call = try accounts.call(
                "POST", "/v1/sessions", ["email": upgrade.email, "password": upgrade.password])
            mustHold(call.json["user"] as? String == user || call.status == 429, "\(user) cannot sign in: \(call.json)")
        }
        // All guests that are left are unused from now on.
        world.redisEpoch += Self.keep + 1_000
        try world.run(until: "no guest is left", within: 200_000) {
            (try? self.isWithoutGuests()) == true
        }
    }

    private func isWithoutGuests() throws -> Bool {
        try texts(["KEYS", "*:guests"]).isEmpty
            && texts(["KEYS", "*:user:*"]).allSatisfy {
                try world.redis.command(["HEXISTS", $0, "guest"]).get().int == 0
            }
    }

    private func texts(_ command: [String]) throws -> [String] {
        (try world.redis.command(command).get().array ?? []).compactMap(\.string)
    }

    /// Each account's address is claimed for it, no wish is left over, and all other addresses are free.
    private func checkAddresses() throws {
        var holders: Set<String> = []
        var claims: [String: String] = [:]
        for key in try texts(["KEYS", "*:email:*"]) {
            let words = try texts(["HGETALL", key])
            for place in stride(from: 0, to: words.count - 1, by: 2) { claims[words[place]] = words[place + 1] }
        }
        for key in try texts(["KEYS", "*:user:*"]) {
            let user = String(key.split(separator: ":", maxSplits: 2)[2])
            let words =
                (try world.redis.command(
                    ["HMGET", key, "email", "emailClaim", "emailWanted", "emailReleasing", "upgrade", "guest"]
                ).get().array ?? []).map(\.string)
            mustHold(words[2] == nil && words[3] == nil && words[4] == nil, "an upgrade of \(user) is left open")
            mustHold(words[0] == nil || words[5] == nil, "\(user) is a guest with an address")
            guard let email = words[0] else { continue }
            mustHold(claims[email] == "\(user) \(words[1] ?? "0")", "the claim of \(email)")
            mustHold(holders.insert(email).inserted, "two accounts have \(email)")
        }
        // A server that died may have left a void claim, which the next request for the address releases.
        for email in addresses {
            let call = try accounts.call("POST", "/v1/accounts", ["email": email, "password": "a password of mine"])
            mustHold(call.status == (holders.contains(email) ? 409 : 201), "\(email) was signed up: \(call.json)")
        }
    }
}
