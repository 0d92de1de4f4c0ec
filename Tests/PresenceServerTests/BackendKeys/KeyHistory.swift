import Foundation
import PresenceProtocol
import Redis

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// A random history of three servers with the real scripts and a real Redis: an operator makes, rotates and revokes keys, with and
/// without an end or an overlap, while backends call all servers with every secret that there ever was. Between any script and its
/// answer a server may lose its connections, be slow, pause or die.
///
/// Redis runs one script at a time, so the order of its scripts is the truth. At all times: a key is judged as it is at that moment;
/// and once an operator has the answer that a key is revoked, or a secret replaced, no call that begins afterwards acts. When all is
/// quiet, each server takes exactly the valid secrets, for their scopes.
final class KeyHistory: TroubledHistory, DrawnHistory {
    private struct Key {
        let scopes: String
        let expires: Timestamp?
        var digest: String
        var old: (digest: String, until: Timestamp)?

        func isValid(_ digest: String, at now: Timestamp) -> Bool {
            if let expires, expires <= now { return false }
            return digest == self.digest || old.map { $0.digest == digest && $0.until > now } ?? false
        }
    }

    /// As Redis has them.
    private var keys: [String: Key] = [:]
    /// All texts that operators have got.
    private var texts: [BackendKey] = []
    /// Keys whose revocation was answered, and digests of secrets that an answered rotation has ended.
    private var revoked: Set<String> = []
    private var ended: Set<String> = []
    /// Ids of keys whose revocation was not answered.
    private var known: [String] = []
    private var calls: [(call: SimulatedCall, heard: (SimulatedCall) -> Void)] = []
    private var names = 0

    static let scripts: [Script] = [.judgeKey, .makeKey, .rotateKey, .revokeKey]

    init(seed: UInt64, on redis: SimulatedRedis) throws {
        var random = SplitMix64(seed &* 0x9E37_79B9 &+ 81)
        let trouble = [0, 3, 8, 15].randomElement(using: &random)!
        let world = try World(shards: 3, seed: seed, redis: redis) { $0[Console.enabled] = true }
        super.init(world, on: redis, random, trouble: trouble)
        redis.ran = { [unowned self] in ran($0, $1, $2) }
        world.misbehaviour = Self.misbehaviour
    }

    /// A deliberate bug of the servers.
    @TaskLocal static var misbehaviour: Set<PortMisbehaviour> = []

    // MARK: Course

    func play() throws {
        for _ in 0..<150 {
            step()
            try world.run(for: Milliseconds(draw(0...3) == 0 ? draw(0...1_500) : draw(0...8)))
            hear()
            if let fault { throw fault }
        }
        try quieten()
    }

    private func step() {
        switch draw(0...11) {
        case 0...1: make()
        case 2: rotate()
        case 3: revoke()
        default: call()
        }
    }

    private func living() -> SimulatedShard { world.shards.filter { !$0.isDead }.randomElement(using: &random)! }

    private func ask(
        _ method: String, _ path: String, _ body: [String: Any] = [:], heard: @escaping (SimulatedCall) -> Void
    ) {
        calls.append((SimulatedCall(method, path, body, token: "!backend", to: living()), heard))
    }

    private func hear() {
        let answered = calls.filter { $0.call.status != nil }
        calls.removeAll { $0.call.status != nil }
        for (call, heard) in answered { heard(call) }
    }

    private func make() {
        names += 1
        var body: [String: Any] = [
            "name": "key\(names)", "scopes": draw(0...2) == 0 ? ["users:read"] : ["users:write"],
        ]
        if draw(0...2) == 0 { body["expiresIn"] = draw(1...4_000) }
        ask("POST", "/v1/console/keys", body) { [unowned self] in
            guard $0.status == 201, let text = $0.json["secret"] as? String, let key = BackendKey(text) else { return }
            texts.append(key)
            known.append(key.id)
        }
    }

    private func rotate() {
        guard let id = known.randomElement(using: &random) else { return }
        let before = texts.filter { $0.id == id }.map(\.digest)
        let overlap = draw(0...1) == 0 ? 0 : draw(1...3_000)
        ask("POST", "/v1/console/keys/\(id)/rotate", ["overlap": overlap]) { [unowned self] in
            guard $0.status == 200, let text = $0.json["secret"] as? String, let key = BackendKey(text) else { return }
            texts.append(key)
            if overlap == 0 { ended.formUnion(before) }
            count("rotations")
        }
    }

    private func revoke() {
        guard let id = known.randomElement(using: &random) else { return }
        known.removeAll { $0 == id }
        ask("DELETE", "/v1/console/keys/\(id)") { [unowned self] in
            guard $0.status == 204 || $0.status == 404 else { return known.append(id) }
            revoked.insert(id)
            count("revocations")
        }
    }

    private func call() {
        guard let key = texts.randomElement(using: &random) else { return }
        // Whether it is dead is judged as it was when the call began.
        let isOver = revoked.contains(key.id) || ended.contains(key.digest)
        calls.append(
            (
                request(key, to: living()),
                { [unowned self] in
                    if $0.status == 200 { count("acts") }
                    if isOver, $0.status == 200 { fail("\(key.id) acts after its end") }
                    if $0.status == 403, $0.json["scope"] as? String != "users:write" { fail("403 without the scope") }
                    if isOver, $0.status == 401 { count("refused") }
                }
            ))
    }

    private func request(_ key: BackendKey, to shard: SimulatedShard) -> SimulatedCall {
        SimulatedCall(
            "PATCH", "/v1/users/ana/profile", ["displayName": "n\(draw(0...9_999))"], token: key.text,
            to: shard)
    }

    // MARK: What Redis runs

    private func ran(_ script: Script, _ arguments: [String], _ answer: Result<RedisValue, RedisFailure>) {
        guard case .success(let value) = answer, let word = value.array?.first?.string else { return }
        let now = Timestamp(arguments[0]) ?? 0
        if script == .judgeKey {
            let isValid = keys[arguments[1]]?.isValid(arguments[2], at: now) ?? false
            if (word == "OK") != isValid { fail("\(arguments[1]) is judged \(word), and is valid: \(isValid)") }
        }
        if Self.scripts.contains(script), word == "OK", arguments.count > 3 {
            note(script, Array(arguments[3...]), value.array ?? [], now)
        }
        guard arguments.count > 2, let place = drawTrouble(arguments[2]) else { return }
        world.after(0) { [unowned self] in harm(place) }
    }

    private func note(_ script: Script, _ rest: [String], _ reply: [RedisValue], _ now: Timestamp) {
        switch script {
        case .makeKey:
            keys[rest[0]] = Key(scopes: rest[2], expires: Timestamp(rest[3]).map { now + $0 }, digest: rest[4])
        case .rotateKey:
            guard var key = keys[rest[0]], key.digest != rest[1] else { return }
            let overlap = Timestamp(rest[2]) ?? 0
            key.old = overlap > 0 ? (key.digest, now + overlap) : nil
            key.digest = rest[1]
            keys[rest[0]] = key
        case .revokeKey: keys[reply[1].string ?? ""] = nil
        default: break
        }
    }

    private func harm(_ place: Int) {
        let shard = world.shards[place]
        guard !shard.isDead, !isQuiet else { return }
        switch draw(0...5) {
        case 0:
            shard.die()
            world.replaceShard(at: place)
        case 1: shard.cut(.commands)
        case 2: shard.cutAll()
        case 3: shard.hold(.commands, for: Milliseconds(draw(100...2_500)))
        case 4: shard.holdEvents(for: Milliseconds(draw(50...2_000)))
        default:
            shard.stop()
            world.after(Milliseconds(draw(10...3_000))) { shard.wakeUp() }
        }
    }

    // MARK: The end

    private func quieten() throws {
        isQuiet = true
        try world.calm()
        try world.run(for: 10_000)
        hear()
        for key in texts {
            for shard in world.shards {
                let call = request(key, to: shard)
                try world.run(until: "a call is answered") { call.status != nil }
                let held = keys[key.id]
                let isValid = held?.isValid(key.digest, at: world.redisNow) ?? false
                let wanted = !isValid ? 401 : held?.scopes == "users:write" ? 200 : 403
                if call.status != wanted { fail("\(key.id) is answered \(call.status ?? 0), not \(wanted)") }
                count("answered \(wanted)")
            }
        }
        if let fault { throw fault }
    }
}
