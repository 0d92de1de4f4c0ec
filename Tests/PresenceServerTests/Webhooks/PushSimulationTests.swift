import Expectations
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Whether a user counts as away, in simulated time.
@Suite struct PushSimulationTests {
    @Test(arguments: ["idle", "background"]) func `a device that has it says nothing of a user who is not there`(
        state: String
    ) throws {
        let talk = try PushTalk()
        talk.bob.sendText(#"{"type":"activity","id":800,"state":"\#(state)"}"#)
        try talk.world.run(for: 1_000)
        talk.say()
        try talk.world.run(for: 100)
        talk.mark("delivered", 1)
        try talk.world.run(for: 9_000)
        expect(talk.pushes.isEmpty)
        try talk.world.run(until: "the push", within: 2_000) { talk.pushes.count == 1 }
        // Read on the desktop after all: the next message gets another push.
        talk.mark("read", 1)
        try talk.world.run(for: 1_000)
        talk.say()
        try talk.world.run(for: 1_000)
        talk.mark("read", 2)
        try talk.world.run(for: 60_000)
        expect(talk.pushes.count, equals: 1)
    }

    @Test func `a service is handed a push for each device, and one that it does not know is removed`() throws {
        let talk = try PushTalk(apns: true)
        try talk.register("0a0b")
        talk.webhooks.log.answer = { PushMessage($0.body) == nil ? .accepted : .gone(.max) }
        talk.say()
        try talk.world.run(until: "it is handed over", within: 15_000) { talk.handed.count == 1 }
        let push = try #require(talk.handed.first)
        expect(push.pushToken == "0a0b" && push.text == "hi" && push.badge == 1 && push.user == "bob")
        expect(push.conversation, equals: talk.id.string)
        try talk.world.run(for: 1_000)
        talk.mark("read", 1)
        try talk.world.run(for: 1_000)
        talk.say()
        try talk.world.run(until: "the next is due", within: 15_000) { talk.pushes.count == 2 }
        try talk.world.run(for: 3_600_000)
        expect(talk.handed.count, equals: 1)
    }

    @Test func `a device that was registered since stays`() throws {
        let talk = try PushTalk(apns: true)
        try talk.register("0a0b")
        talk.webhooks.log.answer = { PushMessage($0.body) == nil ? .accepted : .gone(1) }
        talk.say()
        try talk.world.run(until: "it is handed over", within: 15_000) { talk.handed.count == 1 }
        talk.mark("read", 1)
        try talk.world.run(for: 1_000)
        talk.say()
        try talk.world.run(until: "it is handed over again", within: 15_000) { talk.handed.count == 2 }
    }

    @Test func `a push is tried six times within an hour`() throws {
        let talk = try PushTalk(apns: true)
        try talk.register("0a0b")
        talk.webhooks.log.answer = {
            PushMessage($0.body) == nil ? .accepted : .failed("status 503", retryAfter: 60_000)
        }
        talk.say()
        try talk.world.run(for: 20_000)
        expect(talk.handed.count, equals: 1)
        try talk.world.run(for: 2 * 3_600_000)
        expect(talk.handed.count, equals: 6)
    }

    @Test func `what a service refuses is not tried again`() throws {
        let talk = try PushTalk(apns: true)
        try talk.register("0a0b")
        talk.webhooks.log.answer = { PushMessage($0.body) == nil ? .accepted : .refused("status 400 BadDeviceToken") }
        talk.say()
        try talk.world.run(for: 3_600_000)
        expect(talk.handed.count, equals: 1)
    }

    @Test func `a session that says nothing is pushed for after ten seconds, once for a flood`() throws {
        let talk = try PushTalk()
        for _ in 0..<5 { talk.say() }
        try talk.world.run(for: 9_500)
        expect(talk.pushes.isEmpty)
        try talk.world.run(until: "the push", within: 1_500) { talk.pushes.count == 1 }
        for _ in 0..<5 { talk.say() }
        try talk.world.run(for: 120_000)
        expect(talk.pushes.count, equals: 1)
    }

    @Test(arguments: ["delivered", "read"]) func `what has come to a device by then is not pushed`(mark: String) throws
    {
        let talk = try PushTalk()
        for number in 1...3 {
            talk.say()
            try talk.world.run(for: 9_000)
            talk.mark(mark, number)
            try talk.world.run(for: 500)
        }
        try talk.world.run(for: 120_000)
        expect(talk.pushes.isEmpty)
    }

    @Test func `a message that came while an earlier one was delivered has ten seconds of its own`() throws {
        let talk = try PushTalk()
        talk.say()
        try talk.world.run(for: 5_000)
        talk.mark("delivered", 1)
        try talk.world.run(for: 4_500)
        talk.say()
        try talk.world.run(for: 9_000)
        expect(talk.pushes.isEmpty)
        try talk.world.run(for: 15_000)
        expect(talk.pushes.count, equals: 1)
    }

    @Test(arguments: [#""muted":true"#, #""muted":true,"muteFor":3600000"#, #""archived":true"#])
    func `what is muted or archived, before or meanwhile, is not pushed`(setting: String) throws {
        for isLate in [false, true] {
            let talk = try PushTalk()
            if isLate { talk.say() }
            try talk.world.run(for: 1_000)
            talk.set(setting)
            try talk.world.run(for: 1_000)
            talk.say()
            try talk.world.run(for: 120_000)
            expect(talk.pushes.isEmpty)
        }
    }

    @Test func `a line that broke is pushed for within linger and ten seconds, and again once it is read`() throws {
        let talk = try PushTalk()
        talk.bob.lost()
        talk.say()
        try talk.world.run(until: "the push", within: talk.world.configuration.linger + 11_000) {
            talk.pushes.count == 1
        }
        try talk.world.run(for: 30_000)
        talk.say()
        try talk.world.run(for: 60_000)
        expect(talk.pushes.count, equals: 1)
        try talk.bob.connect(to: talk.world.shards[1])
        talk.mark("read", 2)
        try talk.world.run(for: 1_000)
        talk.bob.close(code: 1000)
        try talk.world.run(for: 1_000)
        talk.say()
        try talk.world.run(until: "the next push, at once", within: 3_000) { talk.pushes.count == 2 }
    }

    @Test func `a push that is noted is told though the courier dies`() throws {
        let talk = try PushTalk()
        talk.bob.lost()
        talk.say()
        try talk.world.run(for: 3_000)
        try #require(talk.webhooks.couriers.first).die()
        try talk.world.run(until: "the push", within: 60_000) { talk.pushes.count == 1 }
        try talk.world.run(for: 120_000)
        expect(Set(talk.pushes.map(\.id)).count, equals: 1)
    }

    @Test func `a push that had to wait is not sent once its user has read the conversation`() throws {
        let talk = try PushTalk(apns: true)
        try talk.register("0a0b")
        talk.answer(.failed("503", retryAfter: 0))
        talk.say()
        try talk.world.run(until: "it is handed over", within: 15_000) { talk.handed.count == 1 }
        talk.mark("read", 1)
        talk.answer(.accepted)
        try talk.world.run(for: 3_600_000)
        expect(talk.handed.count, equals: 1)
    }

    @Test func `what was sent is not sent again because the store refused to hear of it`() throws {
        let talk = try PushTalk(apns: true)
        try talk.register("0a0b")
        var refusals = 0
        talk.world.redis.refuse = { script, _ in
            guard script == .queueSettle, refusals < 20 else { return nil }
            refusals += 1
            return .server(code: "NOREPLICAS", message: "NOREPLICAS not enough good replicas")
        }
        talk.say()
        try talk.world.run(until: "it is handed over", within: 15_000) { talk.handed.count == 1 }
        try talk.world.run(for: 3_600_000)
        expect(talk.handed.count == 1 && refusals == 20)
        expect(talk.pushes.count, equals: 1)
    }
}
