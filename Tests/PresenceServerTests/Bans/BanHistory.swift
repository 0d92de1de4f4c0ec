import Foundation
import PresenceProtocol
import Redis

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// A random history of three users, each with two devices, who connect, leave, choose statuses, and write, edit, type and
/// mark in a group, on three servers with the real scripts and a real Redis. A backend bans them, everywhere or in the
/// group, with and without an end, and ends bans. Between any script and its answer the server may die, lose its
/// connections, be slow, or pause.
///
/// Redis runs one script at a time, so the order of its scripts is the truth. At all times: while a ban is in effect no
/// session of the user opens and none of their requests changes anything; and neither is refused when none is in effect.
/// A connection that is closed for a ban has received why. When all is quiet, banned users are not connected, others can
/// connect, and sessions in Redis are those of connected clients.
final class BanHistory: TroubledHistory, DrawnHistory {
    private var clients: [SimulatedClient] = []
    /// Users who were banned everywhere at some time.
    private var everBanned: Set<String> = []
    /// The ends of bans in effect, by user: everywhere, and in the group.
    private var bans: [String: Timestamp] = [:]
    private var groupBans: [String: Timestamp] = [:]
    private var calls: [SimulatedCall] = []
    private var messages = 0

    private static let names = ["ana", "bob", "cy"]
    private static let group = "talk"
    static let scripts: [Script] = [
        .open, .status, .send, .editMessage, .typing, .mark, .ban, .unban, .banMember, .unbanMember,
    ]

    init(seed: UInt64, on redis: SimulatedRedis) throws {
        var random = SplitMix64(seed &* 0x9E37_79B9 &+ 57)
        let trouble = [0, 3, 8, 15].randomElement(using: &random)!
        let world = try World(shards: 3, seed: seed, redis: redis) { $0.redis.interests = seed.isMultiple(of: 2) }
        super.init(world, on: redis, random, trouble: trouble)
        // Until there is a group.
        isQuiet = true
        redis.ran = { [unowned self] in ran($0, $1, $2) }
        for name in Self.names + Self.names {
            let client = SimulatedClient(name, in: world)
            client.onClose = { [unowned self, unowned client] in closed(client, $0) }
            clients.append(client)
        }
    }

    // MARK: Course

    func play() throws {
        let call = backend("PUT", "/v1/conversations/\(Self.group)/participants", ["participants": Self.names])
        try world.run(until: "there is a group") { call.status == 200 }
        isQuiet = false
        for _ in 0..<120 {
            step()
            // Usually so short that much is under way.
            try world.run(for: Milliseconds(draw(0...3) == 0 ? draw(0...1_500) : draw(0...8)))
            if let fault { throw fault }
        }
        try quieten()
    }

    private func step() {
        let client = clients[draw(0...clients.count - 1)]
        let name = Self.names[draw(0...2)]
        switch draw(0...19) {
        case 0...4: connect(client)
        case 5: client.close(code: 1000)
        case 6: client.lost()
        case 7...9: client.send(.status(StatusChange(status: .busy, text: .set("\(draw(0...9_999))"))))
        case 10, 11: write(client)
        case 12: client.send(.typing(conversation: ConversationID(Self.group)!, typing: true))
        case 13: ask(client, #""type":"mark","conversation":"\#(Self.group)","read":\#(draw(1...9))"#)
        case 14, 15: ban(name, "all")
        case 16, 17: ban(name, "conversation:\(Self.group)")
        case 18: calls.append(backend("DELETE", "/v1/users/\(name)/ban"))
        default: calls.append(backend("DELETE", "/v1/users/\(name)/ban?scope=conversation:\(Self.group)"))
        }
    }

    private func connect(_ client: SimulatedClient) {
        guard !client.isConnected, let shard = living() else { return }
        client.dial(shard, device: draw(0...1) == 0 ? "phone" : nil)
        // Requests behind `connect`.
        if draw(0...1) == 0 { client.send(.status(StatusChange(status: .busy, text: .set("\(draw(0...9_999))")))) }
    }

    private func write(_ client: SimulatedClient) {
        messages += 1
        if draw(0...2) == 0, let own = sent[client.user] {
            ask(
                client,
                #""type":"editMessage","conversation":"\#(Self.group)","message":"\#(own[draw(0...own.count - 1)])","#
                    + #""text":"e\#(messages)""#)
        } else {
            // Or again.
            let id = "\(client.user)\(draw(0...2) == 0 && messages > 1 ? draw(1...messages - 1) : messages)"
            sent[client.user, default: []].append(id)
            ask(client, #""type":"send","conversation":"\#(Self.group)","message":{"id":"\#(id)","text":"\#(id)"}"#)
        }
    }

    /// The ids of each user's messages.
    private var sent: [String: [String]] = [:]
    private var asked = 1_000_000
    private func ask(_ client: SimulatedClient, _ members: String) {
        guard client.isConnected else { return }
        asked += 1
        client.sendText("{\(members),\"id\":\(asked)}")
    }

    private func ban(_ name: String, _ scope: String) {
        var body: [String: Any] = ["reason": "Ban of \(name)", "scope": scope]
        if draw(0...3) > 0 { body["until"] = world.redisNow + Milliseconds(draw(5...4_000)) }
        calls.append(backend("PUT", "/v1/users/\(name)/ban", body))
    }

    private func living() -> SimulatedShard? { world.shards.filter { !$0.isDead }.randomElement(using: &random) }

    private func backend(_ method: String, _ path: String, _ body: [String: Any] = [:]) -> SimulatedCall {
        SimulatedCall(method, path, body, token: "!backend", to: living() ?? world.shards[0])
    }

    // MARK: What Redis runs

    private func ran(_ script: Script, _ arguments: [String], _ answer: Result<RedisValue, RedisFailure>) {
        guard case .success(let value) = answer, let words = value.array, let word = words.first?.string else { return }
        let now = Timestamp(arguments[0]) ?? 0
        if Self.scripts.contains(script), arguments.count > 3 {
            // The first arguments after those that all have: the user, or the conversation and the user.
            let rest = Array(arguments[3...])
            switch script {
            case .ban: note(word) { bans[rest[0]] = Timestamp(rest[1]) }
            case .unban: note(word) { bans[rest[0]] = nil }
            case .banMember: note(word) { groupBans[rest[1]] = Timestamp(rest[2]) }
            case .unbanMember: note(word) { groupBans[rest[1]] = nil }
            case .open, .status: judge(script, word, isBanned: isInEffect(bans[rest[0]], now), rest[0])
            case .mark: judgeMarks(words, rest, now)
            case .typing where rest[3] != "1": break
            // A message that was sent before is answered again: the reply has no number of members.
            case .send, .editMessage, .typing:
                let isAnsweredAgain = script != .typing && word == "OK" && words.count == 2
                if !isAnsweredAgain {
                    judge(script, word, isBanned: isInEffect(groupBans[rest[1]], now), rest[1])
                }
            default: break
            }
            if script == .ban, word == "OK" {
                everBanned.insert(rest[0])
                count("bans")
            }
        }
        guard arguments.count > 2, let place = drawTrouble(arguments[2]) else { return }
        world.after(0) { [unowned self] in harm(place) }
    }

    private func note(_ word: String, _ change: () -> Void) { if word == "OK" { change() } }

    private func isInEffect(_ end: Timestamp?, _ now: Timestamp) -> Bool { end.map { $0 > now } ?? false }

    private func judge(_ script: Script, _ word: String, isBanned: Bool, _ user: String) {
        if word == "OK", isBanned { fail("\(script) of \(user), who is banned, is done") }
        if word == "BANNED", !isBanned { fail("\(script) of \(user), who is not banned, is refused") }
        if word == "BANNED" { count("refused") }
    }

    private func judgeMarks(_ words: [RedisValue], _ rest: [String], _ now: Timestamp) {
        for (index, place) in stride(from: 1, to: rest.count - 3, by: 4).enumerated() where index + 1 < words.count {
            let word = words[index + 1].string?.split(separator: " ").first.map(String.init) ?? ""
            judge(.mark, word, isBanned: isInEffect(groupBans[rest[place]], now), rest[place])
        }
    }

    private func harm(_ place: Int) {
        let shard = world.shards[place]
        guard !shard.isDead, !isQuiet else { return }
        switch draw(0...6) {
        case 0:
            shard.die()
            world.replaceShard(at: place)
        case 1: shard.cut(.commands)
        case 2: shard.cutAll()
        case 3: shard.cutSubscription()
        case 4: shard.hold(.commands, for: Milliseconds(draw(100...2_500)))
        case 5: shard.holdEvents(for: Milliseconds(draw(50...2_000)))
        default:
            shard.stop()
            world.after(Milliseconds(draw(10...3_000))) { shard.wakeUp() }
        }
    }

    // MARK: Checks

    private func closed(_ client: SimulatedClient, _ code: CloseCode) {
        guard code == .banned else { return }
        count("expelled")
        if !everBanned.contains(client.user) { fail("\(client.user) was never banned, and is expelled") }
        guard case .error(let error)? = client.received.last, error.code == .banned,
            error.reason == "Ban of \(client.user)", client.closeReason.contains(#""code":"banned""#)
        else { return fail("\(client.user) is expelled without a reason: \(client.closeReason)") }
    }

    private func quieten() throws {
        isQuiet = true
        try world.calm()
        // The ends of all bans that have one, and of all lingering sessions.
        try world.run(for: 30_000)
        for name in Self.names { try check(name) }
        if let fault { throw fault }
    }

    private func check(_ name: String) throws {
        let own = clients.filter { $0.user == name }
        let isBanned = isInEffect(bans[name], world.redisNow)
        let user = UserID(name)!
        let keys = world.shards[0].logic.partitions.keys(of: user)
        if isBanned {
            if own.contains(where: \.isConnected) { fail("\(name), who is banned, stays connected") }
            let left = try redis.command(["HLEN", keys.sessions(user)]).get().int
            if left != 0 { fail("\(name), who is banned, has \(left ?? -1) sessions") }
        }
        let fresh = SimulatedClient(name, in: world)
        fresh.dial(world.shards[draw(0...2)])
        try world.run(for: 1_000)
        if fresh.isConnected == isBanned { fail("\(name) is banned: \(isBanned); connected: \(fresh.isConnected)") }
        if isBanned { count("still banned") }
        let status = SimulatedCall(
            "GET", "/v1/users/bob", token: name, to: world.shards[draw(0...2)])
        try world.run(for: 1_000)
        if (status.status == 403) != isBanned { fail("\(name) is banned: \(isBanned); answered \(status.status ?? 0)") }
    }
}
