import Expectations
import PresenceProtocol
import Redis
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Redis 7.0 runs a script that uses undeclared keys as long as they are on the same node; a cluster would not. So
/// these tests observe the scripts' commands.
@Suite struct ScriptKeyTests {
    @Test func `every key that a script uses is declared`() throws {
        let world = try World(shards: 2) {
            $0[History.enabled] = true
            $0[Messages.keepFor] = 60_000
            $0[Attachments.enabled] = true
            $0[Attachments.unusedFor] = 1_000
        }
        try watch(
            at: world,
            running: Script.allCases.filter {
                // (Only `presenced doctor` repairs logs.)
                !(Script.accounts + Usernames.plan.scripts + [.setPhoto, .mendLog] + Script.delivery + Script.push
                    + [.setNotificationSettings])
                    .contains($0)
            }
        ) {
            try everyScript(in: world)
            // Time for messages to expire.
            try world.run(for: 180_000)
        }
    }

    @Test func `every key that a script of accounts uses is declared`() throws {
        let accounts = try AccountWorld {
            $0[Accounts.guests] = true
            $0[Accounts.providers] = SimulatedProvider.setting
            $0[Usernames.directory] = true
        }
        try watch(at: accounts.world, running: Script.accounts + Usernames.plan.scripts + [.setPhoto]) {
            try everyScript(of: accounts)
        }
    }

    @Test func `every key that a script uses is declared, with webhooks too`() throws {
        let webhooks = try WebhookWorld()
        try watch(at: webhooks.world, running: Script.delivery + [.send, .editMessage, .open, .end, .reap]) {
            try everyScript(in: webhooks.world)
            try webhooks.world.run(for: 30_000)
        }
        expect(!webhooks.calls("message.created").isEmpty && !webhooks.calls("user.offline").isEmpty)
    }

    func watch(at world: World, running scripts: [Script], _ run: () throws -> Void) throws {
        let monitor = try BlockingRedis(world.redis.server.unix)
        try monitor.command("MONITOR")
        try run()
        _ = world.redis.command(["ECHO", "the end"])

        var declared: Set<String> = []
        var digest = ""
        var scriptsSeen: Set<String> = []
        while let line = try monitor.receive().string {
            let words = Self.words(line)
            if words.first == "ECHO" { break }
            if line.contains(" lua] ") {
                scriptsSeen.insert(digest)
                guard words.count > 1, !["TIME", "PUBLISH", "SCAN"].contains(words[0].uppercased()) else { continue }
                expect(declared.contains(words[1]), "\(words[0]) \(words[1]) in a script that declares \(declared)")
            } else if ["EVALSHA", "EVAL"].contains(words[0].uppercased()), let count = Int(words[2]) {
                digest = words[0].uppercased() == "EVAL" ? RedisScript(name: "", source: words[1]).sha1 : words[1]
                declared = Set(words[3..<3 + count])
                expect(Set(declared.map(HashSlot.of)).count, equals: 1, "of one slot of a cluster: \(declared)")
            }
        }
        for script in scripts {
            expect(scriptsSeen.contains(script.redis.sha1), "\(script) was not run")
        }
    }

    @Test func `a change is rejected as a whole when memory is full, and users can still leave`() throws {
        let world = try World(shards: 1)
        let watcher = try SimulatedClient("ana", in: world).connect(to: world.shards[0]).watch("bob")
        let bob = try SimulatedClient("bob", in: world).connect(to: world.shards[0])
        try world.run(for: 100)
        _ = world.redis.command(["CONFIG", "SET", "maxmemory", "1"])
        bob.send(.updateProfile(.init(displayName: .set("Bob"))))
        bob.send(.status(.init(status: .busy)))
        try world.run(for: 30_000)
        let refusals = bob.received.filter { if case .error(let e) = $0 { e.code == .unavailable } else { false } }
        expect(refusals.count, equals: 2)
        expect(watcher.status(of: "bob"), equals: .online)
        expect(world.shards[0].logic.link.isLive)
        bob.close(code: 1000)
        try world.run(for: 100)
        expect(watcher.status(of: "bob"), equals: .offline)
    }

    @Test func `an idle hour costs only renewals, canaries and sweeps`() throws {
        let world = try World(shards: 2)
        try SimulatedClient("ana", in: world).connect(to: world.shards[0]).watch("bob")
        try SimulatedClient("bob", in: world).connect(to: world.shards[1])
        try world.run(for: 1_000)
        world.redis.counts = [:]
        try world.run(for: 3_600_000)
        // The last command belongs to intents.
        expect(Set(world.redis.counts.keys), equals: ["renew", "sweep", "PUBLISH", "SRANDMEMBER"])
        let lease = world.configuration.lease
        expect(world.redis.counts["renew"]! <= Int(2 * 3_600_000 / lease.renewal) + 2)
        expect(world.redis.counts["sweep"]! <= Int(2 * 3_600_000 / lease.sweep) + 2)
    }

    /// Runs each script at least once.
    private func everyScript(in world: World) throws {
        let shard = world.shards[0]
        shard.cut(.lease)
        try world.run(for: 1_000)
        let ana = try SimulatedClient("ana", in: world).connect(to: shard, device: "d").watch("bob")
        let bob = try SimulatedClient("bob", in: world).connect(to: world.shards[1])
        try SimulatedClient("ana", in: world).connect(to: world.shards[1], device: "d").watch("bob")
        bob.send(.activity(.idle))
        try world.run(for: 100)
        // The shard writes its sessions again.
        world.shards[1].cut(.commands)
        try world.run(for: 1_000)
        bob.send(.status(.init(status: .busy, text: .set("t"), clearAfter: 1_000)))
        bob.send(.updateProfile(.init(displayName: .set("Bob"), timezone: .set("Europe/Paris"))))
        bob.send(.updateProfile(.init(timezone: .remove)))
        bob.send(.setVisibility(.init(lastSeen: .contacts)))
        bob.send(.addContacts([UserID("cy")!, UserID("dee")!]))
        bob.send(.block([UserID("eve")!]))
        bob.send(.getVisibility)
        bob.send(.createConversation(participants: [UserID("ana")!]))
        for _ in 0..<2 { bob.send(.createConversation(participants: [UserID("ana")!], key: CreationKey("k"))) }
        try world.run(for: 2_000)
        let conversation = try #require(
            bob.received.compactMap { if case .conversationCreated(_, let c) = $0 { c.id } else { nil } }.first)
        bob.send(.subscribe(.init(conversations: [conversation])))
        bob.send(.typing(conversation: conversation, typing: true))
        try world.run(for: 100)
        bob.send(.typing(conversation: conversation, typing: false))
        let keys = shard.logic.partitions.keys(of: conversation)
        shard.run(
            .participants, keys: [keys.shards, keys.floor] + keys.whole(conversation).map(\.value),
            arguments: [
                keys.events, shard.logic.link.incarnation, "joining \(conversation)", conversation.string, "ana", "cy",
            ], lane: .commands
        ) { _ in }
        // (A newer connection of her device has replaced the first one.)
        try talk(SimulatedClient("dan", in: world).connect(to: world.shards[1]), in: world)
        let user = UserID("bob")!
        let bobs = shard.logic.partitions.keys(of: user)
        shard.run(
            .renumber, keys: [bobs.shards, bobs.floor, bobs.user(user)],
            arguments: [bobs.events, shard.logic.link.incarnation, "bob", "9000000000000", "9000000000000"],
            lane: .commands
        ) { _ in }
        shard.run(
            .disconnect, keys: [bobs.shards, bobs.floor, bobs.user(user), bobs.sessions(user)],
            arguments: [bobs.events, shard.logic.link.incarnation, "bob"], lane: .commands
        ) { _ in }
        shard.run(.history, keys: [bobs.user(user), bobs.history(user)], arguments: [], lane: .commands) { _ in }
        shard.logic.run(shard.logic.revokingTokens(of: user)) { _ in }
        try ban("eve", from: conversation, in: world)
        try report("eve", in: conversation, in: world)
        try everyScriptOfBackendKeys(on: shard)
        try askContacts(in: world)
        try world.run(for: 1_000)
        ana.close(code: 1000)
        try SimulatedClient("cy", in: world).connect(to: world.shards[1])
        world.shards[1].die()
        try world.run(for: 20_000)
    }

    /// Runs the scripts of bans.
    private func ban(_ user: String, from conversation: ConversationID, in world: World) throws {
        for scope in ["all", "conversation:\(conversation)"] {
            for (method, path) in [
                ("PUT", "/v1/users/\(user)/ban"), ("PUT", "/v1/users/\(user)/ban"), ("GET", "/v1/bans"),
                ("DELETE", "/v1/users/\(user)/ban?scope=\(scope)"),
            ] {
                let call = SimulatedCall(
                    method, path, ["reason": "a b", "scope": scope], token: "!backend", to: world.shards[0])
                try world.run(for: 100)
                expect([200, 204].contains(call.status), "\(method) \(path) \(call.json)")
            }
        }
    }

    /// Runs the scripts of requests between users.
    private func askContacts(in world: World) throws {
        func call(_ method: String, _ path: String, _ body: [String: Any]) throws {
            let call = SimulatedCall(method, "/v1/users/" + path, body, token: "!backend", to: world.shards[0])
            try world.run(for: 200)
            expect([200, 204].contains(call.status), "\(method) \(path) \(call.json)")
        }
        try call("PATCH", "hal/visibility", ["conversations": ["from": "contacts"]])
        let fay = try SimulatedClient("fay", in: world).connect(to: world.shards[0])
        fay.send(.createConversation(participants: [UserID("hal")!]))
        for user in ["gus", "hal", "ian"] { try call("POST", "fay/contactRequests", ["user": user]) }
        try call("PUT", "gus/contactRequests/fay", ["accept": true])
        try call("PUT", "hal/contactRequests/fay", ["accept": false])
        try call("PATCH", "fay/blocks", ["add": ["ian"]])
        let (user, shard) = (UserID("fay")!, world.shards[0])
        let keys = shard.logic.partitions.keys(of: user)
        shard.logic.run(
            ScriptCall(.forgetAsked, in: keys, ["asked": keys.asked(user)], ["other": "ian", "number": Int64.max])
        ) { _ in }
    }

    /// Runs the scripts of reports.
    private func report(_ user: String, in conversation: ConversationID, in world: World) throws {
        let report: [String: Any] = ["reason": "spam", "conversation": conversation.string]
        let call = SimulatedCall("POST", "/v1/reports", report, token: "ana", to: world.shards[0])
        try world.run(for: 100)
        expect(call.status, equals: 201, "\(call.json)")
        let id = ((call.json["report"] as? [String: Any])?["id"] as? String) ?? "-"
        let decision = SimulatedCall(
            "POST", "/v1/reports/\(id)", ["action": "accept"], token: "!backend", to: world.shards[0])
        try world.run(for: 100)
        expect(decision.status, equals: 204, "\(decision.json)")
    }

    /// Runs the scripts of notifications.
    private func notify(_ dan: SimulatedClient, in world: World) throws {
        for id in ["a", "b"] {
            let body: [String: Any] = [
                "users": ["dan", "cy"], "id": id, "kind": "k", "title": "T", "collapse": "c",
            ]
            let call = SimulatedCall(
                "POST", "/v1/notifications", body, token: "!backend", to: world.shards[1])
            try world.run(for: 200)
            expect(call.status, equals: 202)
        }
        dan.sendText(#"{"type":"subscribe","id":80,"notifications":true}"#)
        dan.sendText(#"{"type":"markNotifications","id":81,"seen":2,"read":[2],"archived":[2]}"#)
        dan.sendText(#"{"type":"getNotifications","id":82,"before":2}"#)
        try world.run(for: 200)
    }

    /// Runs the scripts of conversations and messages.
    private func talk(_ dan: SimulatedClient, in world: World) throws {
        dan.sendText(#"{"type":"createConversation","id":70,"participants":["cy"],"name":"Trip","key":"t"}"#)
        try world.run(for: 500)
        let made = try #require(
            dan.received.compactMap { if case .conversationCreated(70, let c) = $0 { c.id } else { nil } }.first)
        // The request of a shard that has missed events.
        let keys = world.shards[1].logic.partitions.keys(of: made)
        world.shards[1].run(
            .logPage, keys: [keys.conversation(made), keys.log(made), keys.changes(made)],
            arguments: ["0", "9", "100", "100000"], lane: .commands
        ) { _ in }
        let upload = world.shards[1].attach(to: made, by: "dan")
        for request in [
            #""type":"send","message":{"id":"m0","attachments":[\#(upload)]}"#,
            #""type":"send","message":{"id":"m1","text":"a"}"#, #""type":"send","message":{"id":"m2","text":"b"}"#,
            #""type":"editMessage","message":"m1","text":"c""#, #""type":"deleteMessage","message":"m1""#,
            #""type":"getMessages""#, #""type":"mark","read":1"#, #""type":"conversationSettings","muted":true"#,
            #""type":"renameConversation","name":"Alps""#, #""type":"changeMembers","add":["dee"]"#,
        ] {
            dan.sendText(#"{\#(request),"id":71,"conversation":"\#(made)"}"#)
            try world.run(for: 200)
        }
        dan.sendText(#"{"type":"subscribe","id":72,"conversations":[{"id":"\#(made)","after":0}]}"#)
        dan.sendText(#"{"type":"setVisibility","id":73,"visibility":{"receipts":"nobody"}}"#)
        try world.run(for: 500)
        world.shards[0].cutSubscription()
        try world.run(for: 1_000)
        world.shards[0].logic.feature(Conversations.self)?.departing.begin(UserID("dee")!)
        try world.run(for: 500)
        try notify(dan, in: world)
        let dans = world.shards[0].logic.partitions.keys(of: Identifier("dan")!)
        _ = world.redis.command(["HSET", dans.inbox(Identifier("dan")!), " erase", "1"])
        world.shards[0].logic.feature(Conversations.self)?.departing.begin(Identifier("dan")!)
        try world.run(for: 500)
    }
}
