import Expectations
import Foundation
import PresenceProtocol
import Redis
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Pushes in quiet hours, and while their user is busy, in simulated time. The world begins on a Tuesday, at 22:30 UTC.
@Suite struct HeldPushTests {
    private let bob = UserID("bob")!

    private func talk(_ quiet: (inout NotificationSettings) -> Void, notifications: Bool = false) throws -> PushTalk {
        let talk = try PushTalk(apns: true, notifications: notifications)
        try talk.register("0a0b")
        var settings = NotificationSettings()
        quiet(&settings)
        set(settings, in: talk)
        talk.bob.vanish()
        _ = try talk.world.redis.command(["DEL", talk.world.shards[0].logic.partitions.keys(of: bob).sessions(bob)])
            .get()
        return talk
    }

    private func set(_ settings: NotificationSettings, in talk: PushTalk) {
        let keys = talk.world.shards[0].logic.partitions.keys(of: bob)
        talk.run(
            .setNotificationSettings, PartitionKeys.offering([keys.shards, keys.floor, keys.user(bob)]), keys.events,
            ["bob", settings.stored])
    }

    private func quiet(_ minutes: Int64, from world: World? = nil, allow: [QuietHours.Exception] = []) -> QuietHours {
        let now = ((world?.redisNow ?? 1_700_001_000_000) / 60_000).remainder(by: 1_440)
        func time(_ minute: Int64) -> QuietHours.Time {
            let minute = minute.remainder(by: 1_440)
            return .init("\(minute / 600)\(minute / 60 % 10):\(minute % 60 / 10)\(minute % 10)")!
        }
        return QuietHours(
            timezone: "UTC", from: time(now - 5), to: time(now + minutes), days: Array(1...7), allow: allow)
    }

    private func notify(_ talk: PushTalk, _ id: String, _ adjust: (inout NotificationRequest.New) -> Void = { _ in }) {
        var new = NotificationRequest.New()
        (new.users, new.id, new.kind) = ([bob], Identifier(id), CreationKey("order"))
        (new.title, new.body) = (Array("\"title\"".utf8), Array("\"\(id)\"".utf8))
        adjust(&new)
        let shard = talk.world.shards[0]
        shard.input { logic in
            let progress = Notifications.Progress()
            let notifications = logic.feature(Notifications.self)!
            logic.tasks.run { [new] in await notifications.store(new, for: new.users, progress) }
        }
    }

    private func body(_ call: QueuedEvent) -> String { String(decoding: call.body, as: UTF8.self) }

    @Test func `a message in quiet hours is pushed at their end`() throws {
        let talk = try talk { $0.quiet = quiet(10) }
        talk.say("held")
        try talk.world.run(for: 300_000)
        expect(talk.handed.isEmpty && talk.pushes.isEmpty)
        try talk.world.run(until: "the push", within: 600_000) { talk.handed.count == 1 }
        expect(talk.handed[0].text == "held" && talk.handed[0].summary == nil)
        try talk.world.run(for: 4_000_000)
        expect(talk.handed.count, equals: 1)
    }

    @Test func `what was read meanwhile is not pushed`() throws {
        let talk = try talk { $0.quiet = quiet(10) }
        talk.say()
        try talk.world.run(for: 60_000)
        let keys = talk.world.shards[0].logic.partitions.keys(of: talk.id)
        talk.run(
            .mark, [keys.shards, keys.floor, keys.conversation(talk.id)], keys.events,
            [talk.id.string, "bob", "1", "1", "n"])
        try talk.world.run(for: 4_000_000)
        expect(talk.handed.isEmpty)
        // The next one is decided as usual.
        talk.say("next")
        try talk.world.run(until: "the push", within: 5_000) { talk.handed.map(\.text) == ["next"] }
    }

    @Test func `several make one summary without texts, which is all until they are read`() throws {
        let talk = try talk { $0.quiet = quiet(10) }
        talk.say()
        talk.say()
        notify(talk, "one")
        notify(talk, "two")
        try talk.world.run(for: 60_000)
        expect(talk.pushes.isEmpty)
        try talk.world.run(until: "the summary", within: 600_000) { talk.handed.count == 1 }
        let push = talk.handed[0]
        expect(push.summary?.conversations == [talk.id.string] && push.summary?.notifications.count == 2)
        expect((push.title, push.text) == ("", "") && push.badge == 2)
        let told = body(talk.pushes[0])
        expect(told.contains(#""summary":{"conversations":["\#(talk.id)"],"notifications":["#), "\(told)")
        talk.say()
        try talk.world.run(for: 4_000_000)
        expect(talk.handed.count, equals: 1)
    }

    @Test func `urgent notifications pass where they are allowed to`() throws {
        let talk = try talk { $0.quiet = quiet(10, allow: [.urgent]) }
        notify(talk, "plain")
        notify(talk, "urgent") { $0.urgency = .high }
        try talk.world.run(for: 60_000)
        expect(talk.handed.map(\.text), equals: ["urgent"])
    }

    @Test func `held pushes survive the server that holds them`() throws {
        let talk = try talk { $0.quiet = quiet(10) }
        talk.say("held")
        try talk.world.run(for: 60_000)
        let courier = try #require(talk.webhooks.couriers.first)
        courier.die()
        try talk.world.run(for: 60_000)
        expect(talk.handed.isEmpty)
        try talk.world.run(until: "the push", within: 600_000) { talk.handed.map(\.text) == ["held"] }
    }

    @Test func `a change of the settings decides anew at once`() throws {
        let talk = try talk { $0.quiet = quiet(600) }
        talk.say("held")
        try talk.world.run(for: 60_000)
        expect(talk.handed.isEmpty)
        set(NotificationSettings(), in: talk)
        try talk.world.run(until: "the push", within: 2_000) { talk.handed.map(\.text) == ["held"] }
    }

    @Test func `settings that change nothing decide nothing anew`() throws {
        let talk = try talk { $0.quiet = quiet(600) }
        talk.say("held")
        try talk.world.run(for: 60_000)
        let keys = talk.world.shards[0].logic.partitions.keys(of: bob)
        func state() throws -> [String?] {
            [
                try talk.world.redis.command(["ZSCORE", keys.held, "bob"]).get().string,
                try talk.world.redis.command(["HGET", keys.user(bob), "notifyVersion"]).get().string,
            ]
        }
        let before = try state()
        expect(!before.contains(nil))
        var same = NotificationSettings()
        same.quiet = quiet(600)
        set(same, in: talk)
        try talk.world.run(for: 10_000)
        try expect(state() == before && talk.handed.isEmpty)
    }

    @Test func `of notifications for their push alone the newest 200 are held`() throws {
        let talk = try talk {
            $0.quiet = quiet(600)
            $0.kinds["order"] = .init(inbox: false, push: true)
        }
        // Each is decided before a later one takes its place in the list.
        for batch in 0..<21 {
            for number in 0..<10 { notify(talk, "n\(batch)-\(number)") }
            try talk.world.run(for: 2_000)
        }
        let keys = talk.world.shards[0].logic.partitions.keys(of: bob)
        let held = try talk.world.redis.command(["HKEYS", keys.pushed(bob)]).get().array ?? []
        let numbers = held.compactMap { Int($0.string?.dropFirst().prefix { $0 != "." } ?? "") }
        expect(numbers.sorted(), equals: Array(11...210))
    }

    @Test func `a push is held for a minute if the time zone of its user cannot be read now`() throws {
        // The first has no quiet hours now, the second has some.
        for (minutes, isQuiet) in [(Int64(-1), false), (10, true)] {
            let talk = try talk { $0.quiet = quiet(minutes) }
            for shard in talk.world.shards { shard.workers.room = 0 }
            talk.say("held")
            try talk.world.run(for: 30_000)
            expect(talk.handed.isEmpty)
            for shard in talk.world.shards { shard.workers.room = nil }
            try talk.world.run(for: 120_000)
            expect(talk.handed.isEmpty, equals: isQuiet)
            try talk.world.run(until: "the push", within: 600_000) { talk.handed.map(\.text) == ["held"] }
        }
    }

    @Test func `who is busy is pushed to when that ends`() throws {
        let talk = try PushTalk(apns: true)
        try talk.register("0a0b")
        var settings = NotificationSettings()
        settings.whileBusy = .hold
        set(settings, in: talk)
        talk.bob.sendText(#"{"type":"status","id":601,"status":"busy"}"#)
        try talk.world.run(for: 1_000)
        talk.say("held")
        try talk.world.run(for: 60_000)
        expect(talk.handed.isEmpty)
        talk.bob.sendText(#"{"type":"status","id":602,"status":"auto"}"#)
        try talk.world.run(until: "the push", within: 2_000) { talk.handed.map(\.text) == ["held"] }
    }

    @Test func `a push that waits for its service when quiet hours begin is held`() throws {
        let talk = try talk { _ in }
        talk.answer(.failed("status 503", retryAfter: 0))
        talk.say("waits")
        try talk.world.run(until: "the first try", within: 5_000) { talk.handed.count == 1 }
        var settings = NotificationSettings()
        settings.quiet = quiet(20, from: talk.world)
        set(settings, in: talk)
        talk.answer(.accepted)
        try talk.world.run(for: 600_000)
        expect(talk.handed.count, equals: 1)
        try talk.world.run(until: "the push", within: 1_200_000) { talk.handed.count == 2 }
    }

    @Test func `messages of a sort are not pushed, and come into the list all the same`() throws {
        let talk = try talk({ $0.messages.direct = .none }, notifications: true)
        talk.say("unwanted")
        try talk.world.run(for: 60_000)
        expect(talk.handed.isEmpty && talk.pushes.isEmpty)
        try expect(list(talk).contains("unwanted"))
    }

    @Test func `quiet hours do not hold the list`() throws {
        let talk = try talk({ $0.quiet = quiet(10) }, notifications: true)
        talk.say("held")
        try talk.world.run(for: 10_000)
        try expect(list(talk).contains("held"))
        let before = try list(talk)
        try talk.world.run(until: "the push", within: 900_000) { talk.handed.count == 1 }
        try talk.world.run(for: 10_000)
        try expect(list(talk), equals: before)
    }

    @Test(arguments: [(true, true), (true, false), (false, true), (false, false)])
    func `a kind is listed and pushed as its user wishes`(inbox: Bool, push: Bool) throws {
        let talk = try talk { $0.kinds["order"] = .init(inbox: inbox, push: push) }
        notify(talk, "one")
        try talk.world.run(for: 60_000)
        expect(talk.handed.map(\.text), equals: push ? ["one"] : [])
        // Nothing of one that is for its push alone stays but its id.
        try expect(list(talk).contains("one"), equals: inbox)
        notify(talk, "one")
        try talk.world.run(for: 60_000)
        expect(talk.handed.count, equals: push ? 1 : 0)
    }

    @Test func `without a preview pushes have no texts`() throws {
        let talk = try talk { $0.preview = false }
        talk.say("secret")
        notify(talk, "secret")
        try talk.world.run(for: 60_000)
        expect(talk.handed.count == 2 && talk.handed.allSatisfy { $0.text.isEmpty && $0.title.isEmpty })
        expect(talk.pushes.allSatisfy { !body($0).contains("\"title\":\"s") && !body($0).contains("\"text\":\"s") })
    }

    @Test func `every key that a script of held pushes touches is declared`() throws {
        let talk = try talk { _ in }
        var settings = NotificationSettings()
        settings.quiet = quiet(600)
        try ScriptKeyTests().watch(at: talk.world, running: Script.holding + [.setNotificationSettings]) {
            set(settings, in: talk)
            talk.say()
            notify(talk, "one")
            try talk.world.run(for: 30_000)
            talk.answer(.failed("status 503", retryAfter: 0))
            set(NotificationSettings(), in: talk)
            try talk.world.run(until: "the summary", within: 5_000) { talk.handed.count == 1 }
            // It is held again before its next try.
            set(settings, in: talk)
            try talk.world.run(for: 60_000)
            expect(talk.handed.count, equals: 1)
            talk.answer(.accepted)
            set(NotificationSettings(), in: talk)
            try talk.world.run(until: "the summary again", within: 5_000) { talk.handed.count == 2 }
            expect(talk.handed[1].summary, equals: talk.handed[0].summary)
        }
    }

    /// All that is stored of bob's notifications.
    private func list(_ talk: PushTalk) throws -> String {
        let keys = talk.world.shards[0].logic.partitions.keys(of: bob)
        let fields = try talk.world.redis.command(["HGETALL", keys.notifications(bob)]).get().array ?? []
        return stride(from: 0, to: fields.count - 1, by: 2).filter { fields[$0].string != "index" }
            .map { "\(fields[$0].string ?? "") \(fields[$0 + 1].string ?? "")" }.joined(separator: "\n")
    }
}
