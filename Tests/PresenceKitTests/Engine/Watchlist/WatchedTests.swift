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
        #expect(people.wanting == 3)
        holds(ask() == ["ana", "bob"])
        #expect(room == 0)
        #expect(people["cy"]?.watch.refusal == Self.full)
        holds(people.takeChanged() == ["cy"])
        holds(ask() == [])
        people.readmit()
        room = 1
        holds(ask() == ["cy"])
    }

    @Test mutating func `an unobserved item is removed after its grace period, or at once without room`() {
        people.join("bob")
        _ = ask()
        people.answered("bob")
        people.leave("bob", at: .seconds(1))
        #expect(people.nextDeadline(whileConnected: true) == .seconds(1))
        holds(people.takeLeft(at: .milliseconds(999)).isEmpty)
        holds(people.takeLeft(at: .seconds(1)).map(\.id) == ["bob"])
        #expect(people.isEmpty && people.isSettled)
        people.join("cy")
        people.leave("cy", at: .seconds(9))
        holds(people.takeLeft(at: nil).map(\.id) == ["cy"])
    }

    @Test mutating func `an item left while its reply is pending is removed when that arrives`() {
        people.join("bob")
        _ = ask()
        people.leave("bob", at: .zero)
        holds(people.takeLeft(at: .seconds(1)).isEmpty)
        #expect(people.count == 1)
        people.answered("bob")
        holds(people.takeLeft(at: .seconds(1)).map(\.id) == ["bob"])
    }

    @Test mutating func `an item with a temporary error is requested again later, a rejected one is not`() {
        people.join("bob")
        people.join("cy")
        _ = ask()
        room = 2
        holds(people.refuse("bob", PresenceError(.unavailable, "", retryAfter: .seconds(3)), at: .zero))
        holds(people.refuse("cy", PresenceError(.forbidden, ""), at: .zero))
        holds(!people.refuse("cy", PresenceError(.forbidden, ""), at: .zero), "it was refused already")
        #expect(people.nextDeadline(whileConnected: true) == .seconds(3))
        #expect(people.nextDeadline(whileConnected: false) == nil)
        holds(ask(at: .seconds(2)) == [])
        holds(ask(at: .seconds(3)) == ["bob"])
    }

    @Test mutating func `only real changes count as changes`() {
        people.join("bob")
        holds(people.update("bob", .presence) { $0.apply(Presence(version: 3, status: .busy), nil) })
        let stamp = people["bob"]!.presenceStamp
        holds(!people.update("bob", .presence) { $0.apply(Presence(version: 3, status: .busy), nil) })
        holds(!people.update("cy") { _ in true })
        #expect(people["bob"]?.presenceStamp == stamp)
        #expect(people["bob"]?.profileStamp == 0)
        holds(people.takeChanged() == ["bob"])
        holds(people.takeChanged() == [])
    }
}
