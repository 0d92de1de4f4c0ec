import PresenceProtocol
import Redis

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// A random history of four users who ask each other to become contacts, answer, block, hide, and begin conversations with
/// each other, on three servers with the real scripts and a real Redis. The account of one of them is deleted at some time.
/// Between any script and its answer the server may die, lose its connections, be slow, or pause; every server sweeps.
///
/// Redis runs one script at a time, so the order of its scripts is the truth. At all times: a shown request is neither of a
/// blocked user, nor of one from whom the user hides, nor one that the user has refused; and nothing of a user's marks and
/// typing reaches a stranger whom they have not answered. An asker is answered the same whatever happens to the request.
/// When all is quiet: contacts are mutual, clients show the requests that are open, askers still make them, nothing is left of
/// the deleted user, and no intent is unfinished.
final class ContactHistory: TroubledHistory, DrawnHistory {
    private let pause: Milliseconds
    /// In half of the histories few users ask, so that more of them stay strangers.
    private let isTalkative: Bool
    var clients: [SimulatedClient] = []
    private var numbers = 0

    static let names = ["ana", "bob", "cy", "dee"]
    static let scripts: [Script] =
        ContactRequests.plan.scripts + Script.conversations + [.send, .typing, .visibility, .deleteAccount]
    private let address = EmailAddress("dee@example.org")!
    var dee: UserID { UserID("dee")! }
    var isClosing = false
    private(set) var isGone = false

    /// "USER OTHER" for each answer and block of a user that concerns another.
    private var refused: Set<String> = []
    var everBlocked: Set<String> = []
    var accepted: Set<String> = []
    /// "USER ASKER NUMBER" for each request that was shown.
    private var shown: Set<String> = []
    /// Users who admit only contacts to conversations.
    private var areClosed: Set<String> = []
    /// The users whose answers conversations wait for.
    private var asked: [String: String] = [:]
    /// The members of direct conversations.
    private var talks: [String: Set<String>] = [:]

    init(seed: UInt64, on redis: SimulatedRedis) throws {
        var random = SplitMix64(seed &* 0x9E37_79B9 &+ 91)
        pause = Milliseconds.random(in: 100...3_000, using: &random)
        let trouble = [0, 3, 8, 15].randomElement(using: &random)!
        isTalkative = Bool.random(using: &random)
        let world = try World(shards: 3, seed: seed, redis: redis) {
            $0.redis.interests = seed.isMultiple(of: 2)
            $0[Marking.delay] = 0
        }
        super.init(world, on: redis, random, trouble: trouble)
        redis.ran = { [unowned self] in ran($0, $1, $2) }
        world.shards.forEach(hasten)
        let keys = keys(of: dee)
        _ = try redis.command(["HSET", keys.user(dee), "email", address.text, "version", "1"]).get()
        _ = try redis.command(["HSET", keys.emails(with: address), address.text, "dee 0"]).get()
    }

    private func hasten(_ shard: SimulatedShard) { shard.logic.intents.pause = pause }
    func keys(of id: Identifier) -> PartitionKeys {
        Partitions(world.configuration, database: 0).keys(of: id)
    }

    // MARK: Course

    func play() throws {
        for (place, name) in (Self.names + Self.names.prefix(2)).enumerated() {
            let client = SimulatedClient(name, in: world)
            client.onMessage = { [unowned self, unowned client] in received($0, by: client) }
            clients.append(try client.connect(to: world.shards[place % 3]))
        }
        for client in clients where isTalkative {
            ask(client, "setVisibility", #""conversations":{"from":"contacts"}"#)
        }
        for _ in 0..<130 {
            step()
            // Usually so short that much is under way.
            try world.run(for: Milliseconds(draw(0...3) == 0 ? draw(0...1_500) : draw(0...8)))
            if let fault { throw fault }
        }
        try quieten()
    }

    private func step() {
        for client in clients where !client.isConnected && !(isGone && client.user == "dee") {
            if let shard = living() { client.dial(shard) }
        }
        let client = clients[draw(0...clients.count - 1)]
        let other = Self.names.filter { $0 != client.user }[draw(0...2)]
        switch isTalkative && draw(0...3) > 0 ? draw(18...30) : draw(0...31) {
        case 0...8: ask(client, "requestContact", #""user":"\#(other)","text":"\#(draw(0...9))""#)
        case 9...14: ask(client, "answerContact", #""user":"\#(other)","accept":\#(draw(0...1) > 0)"#)
        case 15:
            ask(client, "block", #""users":["\#(other)"]"#)
            // Withdraws what the user has asked, and lets them ask again.
            if draw(0...2) > 0 { ask(client, "unblock", #""users":["\#(other)"]"#) }
        case 16: insist()
        case 17:
            let audience = ["everyone", "everyone", "contacts", "nobody"][draw(0...3)]
            ask(client, "setVisibility", #""visibility":{"findable":"\#(audience)"}"#)
        case 18, 19:
            let audience = ["everyone", "contacts", "contacts"][draw(0...2)]
            ask(client, "setVisibility", #""conversations":{"from":"\#(audience)"}"#)
        case 20...22: ask(client, "createConversation", #""participants":["\#(other)"]"#)
        case 23...25: talk(client, "send") { #","message":{"id":"m\#($0)","text":"Hi"}"# }
        case 26, 27: talk(client, "mark") { _ in #","read":9,"delivered":9"# }
        case 28, 29: talk(client, "typing") { _ in #","typing":true"# }
        case 30: client.lost()
        default: if draw(0...3) == 0 { closeAccount() }
        }
    }

    /// A user who was refused withdraws the request and asks again.
    private func insist() {
        let pair = refused.sorted().randomElement(using: &random)?.split(separator: " ") ?? []
        guard let client = clients.first(where: { pair.last == $0.user[...] && $0.isConnected }) else { return }
        for type in ["block", "unblock"] { ask(client, type, #""users":["\#(pair[0])"]"#) }
        ask(client, "requestContact", #""user":"\#(pair[0])""#)
    }

    private func ask(_ client: SimulatedClient, _ type: String, _ members: String) {
        guard client.isConnected else { return }
        numbers += 1
        let isContact = type == "requestContact"
        client.sendText(#"{"type":"\#(type)","id":\#(isContact ? 1_000_000 + numbers : numbers),\#(members)}"#)
    }

    private func talk(_ client: SimulatedClient, _ type: String, _ more: (Int) -> String) {
        let own = talks.filter { $0.value.contains(client.user) }.keys.sorted()
        guard let id = own.randomElement(using: &random) else { return }
        ask(client, type, #""conversation":"\#(id)"\#(more(numbers))"#)
    }

    private func living() -> SimulatedShard? {
        world.shards.filter { !$0.isDead && $0.logic.link.isLive }.randomElement(using: &random)
    }

    /// Runs the same scripts as a server (`Accounts.remove`): the first one decides.
    func closeAccount() {
        isClosing = true
        guard !isGone, let shard = living() else { return }
        let (keys, user) = (keys(of: dee), dee)
        shard.input { [address] logic in
            logic.run(keys.deletion(of: user, address)) { [weak logic] result in
                guard case .success(let value) = result, value.array?.first?.string == "OK" else { return }
                logic?.feature(Conversations.self)?.departing.begin(user)
                logic?.feature(ContactRequests.self)?.asking.begin(user)
            }
        }
    }

    // MARK: What clients receive

    private func received(_ message: ServerMessage, by client: SimulatedClient) {
        guard case .error(let error) = message, let id = error.id, id >= 1_000_000 else { return }
        // Only the asker's own state and the state of the server show.
        let isOwn = [.unavailable, .rateLimited, .tooMany].contains(error.code)
        if !isOwn, error.code != .forbidden || !everBlocked.contains(where: { $0.hasPrefix(client.user + " ") }) {
            fail("\(client.user) asks, and is answered \(error.code)")
        }
    }

    // MARK: What Redis runs

    private func ran(_ script: Script, _ arguments: [String], _ answer: Result<RedisValue, RedisFailure>) {
        guard Self.scripts.contains(script), arguments.count > 3 else { return }
        if case .success(let value) = answer, value.array?.first?.string == "OK" {
            let words = (value.array ?? []).map { $0.string ?? "" }
            do { try record(script, Array(arguments[3...]), words) } catch { fail("no answer: \(error)") }
        }
        guard let place = drawTrouble(arguments[2]) else { return }
        world.after(0) { [unowned self] in harm(place) }
    }

    private func record(_ script: Script, _ rest: [String], _ words: [String]) throws {
        switch script {
        case .visibility:
            if rest[4] != "" { if rest[4] == "c" { areClosed.insert(rest[0]) } else { areClosed.remove(rest[0]) } }
            for change in rest[8...] where rest[5] == "blocks" && change.hasPrefix("+") {
                let other = String(change.dropFirst())
                everBlocked.insert("\(rest[0]) \(other)")
                if try state(of: "in:" + other, of: rest[0]) == "o" {
                    fail("\(rest[0]) blocks \(other), who still asks")
                }
                count("blocks")
            }
        case .answerContact where rest[3] != "1":
            refused.insert("\(rest[1]) \(rest[2])")
            count("refusals")
        case .deliverAsked: try judgeDelivery(of: rest[2], to: rest[1], number: rest[3])
        case .acceptAsked where words[1] == "y":
            accepted.insert("\(rest[0]) \(rest[1])")
            count("acceptances")
        case .deleteAccount: isGone = true
        default: try recordTalk(script, rest, words)
        }
    }

    /// The asker's request has reached the user: it is shown only if it may be.
    private func judgeDelivery(of asker: String, to user: String, number: String) throws {
        guard try state(of: "in:" + asker, of: user) == "o" else { return }
        // A repeated or late delivery changes nothing, and the user may hide since.
        guard try entry("in:" + asker, of: user)?.hasPrefix(number + " ") == true else { return }
        guard shown.insert("\(user) \(asker) \(number)").inserted else { return }
        count("shown")
        let (user, keys) = (UserID(user)!, keys(of: UserID(user)!))
        func has(_ list: String) throws -> Bool { try redis.ask(["SISMEMBER", list, asker]).get().int == 1 }
        if try has(keys.blocks(user)) { fail("\(user) blocks \(asker), and is asked") }
        if refused.contains("\(user) \(asker)") { fail("\(user) has refused \(asker), and is asked") }
        let findable = try redis.ask(["HGET", keys.user(user), "findable"]).get().string?.prefix(1) ?? "e"
        let isFound = try findable != "n" && (findable != "c" || has(keys.contacts(user)))
        if !isFound { fail("\(user) hides from \(asker), and is asked") }
    }

    func state(of field: String, of user: String) throws -> Substring? {
        try entry(field, of: user)?.split(separator: " ").last.map { $0.prefix(1) }
    }

    private func entry(_ field: String, of user: String) throws -> String? {
        let user = UserID(user)!
        return try redis.ask(["HGET", keys(of: user).asked(user), field]).get().string
    }

    private func recordTalk(_ script: Script, _ rest: [String], _ words: [String]) throws {
        switch script {
        case .direct: talks[rest[1]] = [rest[3], rest[4]]
        case .enroll where rest[2].hasPrefix("asked ") && words[1] != "-" && words[1] != "+":
            let asker = String(rest[2].dropFirst(6))
            // Until the conversation knows the decision; a repeated step decides anew.
            guard let held = try request(of: rest[1]), held.hasSuffix(" ?") else { return }
            let user = String(held.dropLast(2))
            let keys = keys(of: UserID(user)!)
            let isContact = try redis.ask(["SISMEMBER", keys.contacts(UserID(user)!), asker]).get().int == 1
            asked[rest[1]] = areClosed.contains(user) && !isContact ? user : nil
        case .settle:
            let held = try request(of: rest[1])
            if held == nil, let user = asked[rest[1]] { fail("\(rest[1]) is no request to \(user)") }
            if held != nil { count("requests to talk") }
        case .send where words.count > 2 && asked[rest[0]] == rest[1]: asked[rest[0]] = nil
        case .answerRequest where rest[2] == "1": asked[rest[0]] = nil
        case .mark, .typing: try judgeHiding(in: rest[0])
        default: break
        }
    }

    private func request(of id: String) throws -> String? {
        let id = ConversationID(id)!
        return try redis.ask(["HGET", keys(of: id).conversation(id), "request"]).get().string
    }

    /// Nothing of the user who has not answered reaches the other member.
    private func judgeHiding(in name: String) throws {
        guard let user = asked[name], let id = ConversationID(name) else { return }
        count("looks at requests")
        let record = ConversationRecord(id, try redis.ask(["HGETALL", keys(of: id).conversation(id)]).get())
        guard let record, let member = record.member(UserID(user)!) else { return }
        for other in record.members where other.user != member.user {
            if member.shown > 0 || record.delivered(member, for: other.user) > 0 {
                fail("\(other.user) sees marks of \(user), who has not answered")
            }
        }
        let typists = try redis.ask(["HKEYS", keys(of: id).typing(id)]).get().array ?? []
        if typists.contains(where: { $0.string?.hasPrefix(user + " ") == true }) {
            fail("\(user), who has not answered, is shown typing")
        }
    }

    private func harm(_ place: Int) {
        let shard = world.shards[place]
        guard !shard.isDead, !isQuiet else { return }
        switch draw(0...6) {
        case 0, 1:
            shard.die()
            world.replaceShard(at: place)
            hasten(world.shards[place])
        case 2: shard.cut(.commands)
        case 3: shard.cutAll()
        case 4: shard.hold(.commands, for: Milliseconds(draw(100...4_500)))
        case 5: shard.holdEvents(for: Milliseconds(draw(50...2_000)))
        default:
            shard.stop()
            world.after(Milliseconds(draw(10...4_000))) { shard.wakeUp() }
        }
    }
}
