import Expectations
import PresenceProtocol
import Testing

@testable import PresenceKit

/// The state of subscriptions, for one kind of item.
@Suite struct WatchedTests {
    private var people = Watched<HeldPerson>()
    private var room = 2
    private static let full = PresenceError(.tooMany, "")

    private mutating func ask(at uptime: Duration = .zero) -> [UserID] {
        people.takeWanting(at: uptime, room: &room, refusal: Self.full)
    }

    @Test mutating func `new items are subscribed to once, in order, if there is room`() {
        for user in ["cy", "bob", "ana", "bob"] as [UserID] { people.join(user) }
        expect(people.wanting, equals: 3)
        expect(ask(), equals: ["ana", "bob"])
        expect(room, equals: 0)
        expect(people["cy"]?.watch.refusal, equals: Self.full)
        expect(people.takeChanged(), equals: ["cy"])
        expect(ask(), equals: [])
        people.readmit()
        room = 1
        expect(ask(), equals: ["cy"])
    }

    @Test mutating func `an unobserved item is removed after its grace period, or at once without room`() {
        people.join("bob")
        _ = ask()
        people.answered("bob")
        people.leave("bob", at: .seconds(1))
        expect(people.nextDeadline(whileConnected: true), equals: .seconds(1))
        expect(people.takeLeft(at: .milliseconds(999)).isEmpty)
        expect(people.takeLeft(at: .seconds(1)).map(\.id), equals: ["bob"])
        expect(people.isEmpty && people.isSettled)
        people.join("cy")
        people.leave("cy", at: .seconds(9))
        expect(people.takeLeft(at: nil).map(\.id), equals: ["cy"])
    }

    @Test mutating func `an item left while its reply is pending is removed when that arrives`() {
        people.join("bob")
        _ = ask()
        people.leave("bob", at: .zero)
        expect(people.takeLeft(at: .seconds(1)).isEmpty)
        expect(people.count, equals: 1)
        people.answered("bob")
        expect(people.takeLeft(at: .seconds(1)).map(\.id), equals: ["bob"])
    }

    @Test mutating func `an item with a temporary error is requested again later, a rejected one is not`() {
        people.join("bob")
        people.join("cy")
        _ = ask()
        room = 2
        expect(people.refuse("bob", PresenceError(.unavailable, "", retryAfter: .seconds(3)), at: .zero))
        expect(people.refuse("cy", PresenceError(.forbidden, ""), at: .zero))
        expect(!people.refuse("cy", PresenceError(.forbidden, ""), at: .zero), "it was refused already")
        expect(people.nextDeadline(whileConnected: true), equals: .seconds(3))
        expect(people.nextDeadline(whileConnected: false), equals: nil)
        expect(ask(at: .seconds(2)), equals: [])
        expect(ask(at: .seconds(3)), equals: ["bob"])
    }

    @Test mutating func `only real changes count as changes`() {
        people.join("bob")
        expect(people.update("bob", .presence) { $0.apply(Presence(version: 3, status: .busy), nil) })
        let stamp = people["bob"]!.presenceStamp
        expect(!people.update("bob", .presence) { $0.apply(Presence(version: 3, status: .busy), nil) })
        expect(!people.update("cy") { _ in true })
        expect(people["bob"]?.presenceStamp, equals: stamp)
        expect(people["bob"]?.profileStamp, equals: 0)
        expect(people.takeChanged(), equals: ["bob"])
        expect(people.takeChanged(), equals: [])
    }
}
