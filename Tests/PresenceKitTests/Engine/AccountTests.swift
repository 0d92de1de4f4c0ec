import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import PresenceKit

/// Signing out and changing the user.
@Suite struct AccountTests {
    private var bench = Bench()

    init() { bench.connect(user: "ana") }

    private mutating func observe(_ topic: Topic, _ snapshots: UserSnapshot...) -> ObserverID {
        let loop = bench.open(topic)
        bench.receive(.subscribed(id: bench.lastID, users: snapshots, conversations: [], more: false))
        return loop
    }

    // MARK: Sign-out

    @Test mutating func `signing out says goodbye, deletes all data, and ends all loops except on the state`() {
        let state = bench.open(.connection)
        let loops = [
            observe(.presence("bob"), .online("bob", 1)), bench.open(.roster(["bob", "cy"])),
            bench.open(.typing("c1")), bench.open(.ownStatus), bench.open(.keptProfile),
        ]
        bench.signOut()
        expect(bench.bodies, equals: [.disconnect])
        expect(bench.closes, equals: 1)
        expect(bench.cacheClears, equals: 1)
        expect(bench.cacheWrites.isEmpty)
        expect(bench.woken.isSuperset(of: loops))
        expect(bench.engine.observers.ids.sorted { $0.number < $1.number }, equals: [state])
        expect(bench.engine.nextConnectionState(state), equals: .closed(nil))
        expect(bench.engine.watchlist.people.isEmpty)
        expect(bench.engine.watchlist.conversations.isEmpty)
        expect(bench.engine.me.id, equals: nil)
        for loop in loops { bench.close(loop) }
        bench.pass(.seconds(60))
        expect(bench.sent.isEmpty)
    }

    @Test mutating func `all pending calls fail with signed out`() {
        let calls = [
            bench.call(.setStatus(StatusChange(status: .busy))), bench.call(.get(["bob"])),
            bench.call(.updateProfile(ProfileChanges(displayName: .set("A")), .queue)),
            bench.call(.createConversation(.with("bob"))),
        ]
        bench.signOut()
        for call in calls {
            // Nothing is stored, so no call returns `queued`.
            expect(bench.error(of: call)?.code, equals: .signedOut)
            expect(bench.error(of: call)?.outcomeUnknown, equals: call != calls[1])
        }
    }

    @Test mutating func `unsent requests fail with a known outcome`() {
        bench = Bench()
        let calls = [
            bench.call(.setStatus(StatusChange(status: .busy))), bench.call(.createConversation(.with("bob"))),
        ]
        bench.signOut()
        for call in calls {
            expect(bench.error(of: call)?.code, equals: .signedOut)
            expect(bench.error(of: call)?.outcomeUnknown, equals: false)
        }
    }

    @Test mutating func `a creation that waits to be repeated is not made for the next user`() {
        let call = bench.call(.createConversation(.with("bob")))
        bench.end(.lost(""))
        bench.switchUser()
        expect(bench.error(of: call)?.code, equals: .signedOut)
        expect(bench.error(of: call)?.outcomeUnknown, equals: true)
        bench.dial(token: "eve's")
        bench.welcome(user: "eve")
        expect(bench.sent.isEmpty)
    }

    @Test mutating func `pending changes are not sent for the next user`() {
        bench.end(.lost(""))
        _ = bench.call(.updateProfile(ProfileChanges(displayName: .set("Ana")), .queue))
        _ = bench.call(.setStatus(StatusChange(status: .invisible)))
        bench.handle(.typing("c1", true))
        bench.signOut()
        bench.dial(token: "bob's")
        expect(bench.bodies, equals: [.connect(.init(token: "bob's", device: .init()))])
        bench.welcome(user: "bob")
        expect(bench.sent.isEmpty)
    }

    @Test mutating func `changes in flight are not kept either`() {
        _ = bench.call(.updateProfile(ProfileChanges(displayName: .set("Ana")), .queue))
        _ = bench.call(.setStatus(StatusChange(status: .invisible)))
        bench.signOut()
        bench.dial(token: "bob's")
        expect(bench.bodies, equals: [.connect(.init(token: "bob's", device: .init()))])
        bench.welcome(user: "bob")
        expect(bench.sent.isEmpty)
    }

    // MARK: Changing the user

    @Test mutating func `another user gets their own connection and sees what they may see`() {
        let loop = observe(.user("bob"), .online("bob", 5, name: "Bob"))
        _ = bench.engine.nextPerson(loop)
        bench.switchUser()
        expect(bench.bodies, equals: [.disconnect])
        expect(bench.closes, equals: 1)
        expect(bench.fetches, equals: 1)
        expect(bench.cacheClears, equals: 1)
        // Values that the former user saw are not shown to the next one.
        let hidden = bench.engine.nextPerson(loop)
        expect(hidden?.isFound, equals: false)
        expect(hidden?.freshness.staleSince != nil)
        bench.dial(token: "eve's")
        bench.welcome(user: "eve")
        expect(bench.bodies, equals: [.subscribe(.init(users: ["bob"]))])
        bench.receive(.answer(bench.lastID, .online("bob", 4)))
        let bob = bench.engine.nextPerson(loop)
        expect(bob?.presence.version, equals: 4)
        expect(bob?.displayName, equals: nil)
        expect(bob?.freshness, equals: .live)
        expect(bench.engine.me.id, equals: "eve")
    }

    @Test mutating func `a change of user fails pending calls, and ends no loop`() {
        let loop = bench.open(.ownStatus)
        _ = bench.engine.nextOwnStatus(loop)
        let call = bench.call(.createConversation(.with("bob")))
        bench.switchUser()
        expect(bench.answer(to: call) != nil)
        expect(bench.engine.nextOwnStatus(loop), equals: nil)
        bench.dial(token: "eve's")
        bench.welcome(user: "eve", status: OwnStatus(status: .busy))
        expect(bench.engine.nextOwnStatus(loop)?.status, equals: .busy)
    }

    @Test mutating func `after a sign-out a change of user is a sign-in`() {
        bench.signOut()
        bench.switchUser()
        expect(bench.fetches, equals: 1)
    }

    @Test mutating func `before the first use a change of user does not connect`() {
        bench = Bench()
        bench.switchUser()
        expect(bench.fetches, equals: 0)
        expect(bench.engine.link.state, equals: .idle)
    }

    @Test mutating func `a token of another user is a change of user`() {
        let loop = observe(.presence("bob"), .online("bob", 5))
        _ = bench.engine.nextPresence(loop)
        bench.handle(.reconnect)
        bench.handle(.opened(bench.engine.link.attempt))
        bench.welcome(user: "eve")
        expect(bench.cacheClears, equals: 1)
        expect(bench.engine.nextPresence(loop)?.isKnown, equals: false)
        expect(bench.bodies, equals: [.subscribe(.init(users: ["bob"]))])
    }

    @Test mutating func `the former user's typing is not shown to the next user`() {
        let loop = bench.open(.typing("c1"))
        bench.receive(
            .subscribed(
                id: bench.lastID, users: [], conversations: [.init(conversation: "c1", version: 9, typing: ["bob"])],
                more: false))
        _ = bench.engine.nextTyping(loop)
        bench.switchUser()
        expect(bench.engine.nextTyping(loop)?.users, equals: [])
        bench.dial()
        bench.welcome(user: "eve")
        bench.receive(.refusal(bench.lastID, .forbidden))
        expect(bench.engine.nextTyping(loop)?.problem?.code, equals: .forbidden)
    }
}
