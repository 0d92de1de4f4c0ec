import Expectations
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Notifications of messages follow the changes of these messages, whatever was pushed since.
@Suite struct PushNotificationTests {
    private let bob = UserID("bob")!

    private func talk() throws -> PushTalk { try PushTalk(notifications: true) }

    /// The messages in bob's notifications.
    private func held(_ talk: PushTalk) throws -> [String] {
        let key = talk.world.shards[0].logic.partitions.keys(of: bob).notifications(bob)
        let fields = try talk.world.redis.command(["HGETALL", key]).get().array?.compactMap(\.string) ?? []
        return ["first", "second", "third"].filter { text in fields.contains { $0.contains("\"\(text)\"") } }
    }

    private func become(_ texts: [String], _ talk: PushTalk) throws {
        try talk.world.run(until: "\(texts)", within: 15_000) { (try? held(talk)) == texts }
    }

    @Test func `a deleted message's notification goes though another was told since`() throws {
        let talk = try talk()
        talk.say("first")
        try become(["first"], talk)
        talk.bob.sendText(#"{"type":"markNotifications","id":600,"read":[1]}"#)
        talk.mark("read", 1)
        try talk.world.run(for: 1_000)
        talk.say("second")
        // A read notification is not replaced.
        try become(["first", "second"], talk)
        talk.delete(1)
        try become(["second"], talk)
        talk.delete(2)
        try become([], talk)
    }

    @Test func `a deleted message's notification goes though a new device forgot what was told`() throws {
        let talk = try talk()
        talk.say("first")
        try become(["first"], talk)
        try talk.register("0a0b")
        talk.delete(1)
        try become([], talk)
    }

    /// Bob is notified of a second message instead of the first, because a new device resets the record of pushes.
    private func moveOn(_ talk: PushTalk) throws {
        talk.say("first")
        try become(["first"], talk)
        try talk.register("0a0b")
        talk.say("second")
        try become(["second"], talk)
    }

    @Test func `a message that is told anew makes a notification anew`() throws {
        let talk = try talk()
        try moveOn(talk)
        talk.delete(2)
        try become(["first"], talk)
        talk.delete(1)
        try become([], talk)
    }

    @Test func `a notification that is made after its message was deleted does not stay`() throws {
        let talk = try talk()
        var isDone = false
        talk.world.redis.runs = { [bob] script, _ in
            guard script == .notify, !isDone else { return }
            isDone = true
            // A new device resets the record of pushes, and the withdrawal finds no notification yet.
            let keys = talk.world.shards[0].logic.partitions.keys(of: bob)
            _ = talk.world.redis.ask(["DEL", keys.pushed(bob)])
            talk.world.redis.runs = { _, _ in }
            talk.deleteUntold(1)
        }
        talk.say("first")
        try talk.world.run(until: "it is told", within: 15_000) { isDone }
        try talk.world.run(for: 5_000)
        try expect(held(talk), equals: [])
    }

    @Test func `a message that is told anew and then deleted is not notified of again`() throws {
        let talk = try talk()
        try moveOn(talk)
        var isDone = false
        talk.world.redis.runs = { script, arguments in
            guard script == .notify, !isDone, arguments[5].hasPrefix("message-1-") else { return }
            isDone = true
            talk.deleteUntold(1)
            talk.withdraw(1, notifications: true)
        }
        talk.delete(2)
        try talk.world.run(until: "the first is told anew", within: 15_000) { isDone }
        try talk.world.run(for: 5_000)
        try expect(held(talk), equals: [])
        let created = talk.webhooks.calls("notification.created").map { String(decoding: $0.body, as: UTF8.self) }
        expect(created.filter { $0.contains("first") }.count, equals: 1)
    }

    @Test func `where the log of messages is damaged, nothing is told again and again`() throws {
        let talk = try talk()
        talk.say("first")
        try talk.world.run(for: 1_000)
        let keys = talk.world.shards[0].logic.partitions.keys(of: talk.id)
        _ = try talk.world.redis.command(["DEL", keys.log(talk.id)]).get()
        try talk.world.run(for: 120_000)
        expect(talk.pushes.count, equals: 1)
    }
}
