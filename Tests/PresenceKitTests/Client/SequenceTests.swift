import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import PresenceKit

/// Loops over a client; the test plays the server.
@Suite(.timeLimit(.minutes(1))) struct SequenceTests {
    private let dialler = ScriptedDialler()
    private let time = TestTime()
    private let client: PresenceClient

    init() { client = .scripted(dialler, time) }

    @Test func `a loop connects, subscribes, and receives every change`() async {
        var loop = client.presence(of: "bob").makeAsyncIterator()
        async let first = loop.next()
        let server = await dialler.next()
        expect(server.url.path, equals: "/v1/ws")
        expect(server.subprotocol, equals: "presence.v1")
        await server.welcome()
        await expect(server.subscribe(.online("bob", 1)), equals: ["bob"])
        await expect(first?.isOnline, equals: true)
        server.deliver(.event("bob", 2, .busy))
        let second = await loop.next()
        expect(second?.status, equals: .busy)
        expect(second?.freshness, equals: .live)
    }

    @Test func `a slow loop misses intermediate values, never the last`() async {
        var loop = client.presence(of: "bob").makeAsyncIterator()
        async let first = loop.next()
        let server = await dialler.next()
        await server.welcome()
        await server.subscribe(.online("bob", 1))
        _ = await first
        var fast = client.presence(of: "bob").makeAsyncIterator()
        for version in 2...50 { server.deliver(.event("bob", Int64(version))) }
        while let bob = await fast.next(), bob.version < 50 {}
        await expect(loop.next()?.version, equals: 50)
    }

    @Test func `the end of the last loop unsubscribes`() async {
        let server = await connected()
        do {
            var other = client.profile(of: "bob").makeAsyncIterator()
            async let element = other.next()
            await server.subscribe(.online("bob", 1))
            _ = await element
            for await bob in client.presence(of: "bob") {
                expect(bob.user, equals: "bob")
                break
            }
        }
        client.setActivity(.idle)
        await expect(server.message()?.body, equals: .activity(.idle))
        await unsubscribed("bob", by: server)
    }

    @Test func `cancelling a loop's task unsubscribes`() async {
        let server = await connected()
        let task = Task { [client] in
            var count = 0
            for await _ in client.presence(of: "bob") { count += 1 }
            return count
        }
        await server.subscribe(.online("bob", 1))
        var loop = client.presence(of: "bob").makeAsyncIterator()
        _ = await loop.next()
        task.cancel()
        await expect(task.value <= 1)
        // The remaining loop is the last one.
        server.deliver(.event("bob", 2))
        await expect(loop.next()?.version, equals: 2)
    }

    @Test func `a task that is cancelled before the first element ends, too`() async {
        let task = Task { [client] in
            for await _ in client.presence(of: "bob") {}
            return true
        }
        let server = await dialler.next()
        task.cancel()
        await expect(task.value)
        await server.welcome()
    }

    @Test func `a malformed id yields one element with that problem`() async {
        var elements: [PersonPresence] = []
        for await element in client.presence(of: "no id") { elements.append(element) }
        expect(elements.count, equals: 1)
        guard let error = elements.first?.problem else {
            Issue.record("not refused")
            return
        }
        expect(error.code, equals: .invalidID)
        for await profile in client.profile(of: "") { expect(profile.freshness.isLive, equals: false) }
        for await person in client.updates(of: "é") { expect(!person.isFound) }
        for await typing in client.typing(in: String(repeating: "x", count: 129)) { expect(!typing.isAnyone) }
        await expect(client.connectionState, equals: .idle)
    }

    @Test func `a roster is one loop over many users`() async {
        let server = await connected()
        var loop = client.roster(of: ["bob", "cy", "bob"]).makeAsyncIterator()
        async let first = loop.next()
        await expect(server.subscribe(.online("bob", 1), .unknown("cy")), equals: ["bob", "cy"])
        await expect(first?.users, equals: ["bob", "cy"])
        server.deliver(.event("cy", 4, .away))
        let second = await loop.next()
        expect(second?.changed, equals: ["cy"])
        expect(second?["cy"]?.presence.status, equals: .away)
    }

    @Test func `a sequence can be iterated again, and by several loops at once`() async {
        let server = await connected()
        let bob = client.presence(of: "bob")
        async let answered: [UserID] = server.subscribe(.online("bob", 1))
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    for await element in bob { return element.isOnline }
                    return false
                }
            }
            for await isOnline in group { expect(isOnline) }
        }
        await expect(answered, equals: ["bob"])
        for await element in bob {
            expect(element.isOnline)
            break
        }
    }

    @Test func `the connection states show the connect and a lost connection`() async {
        var loop = client.connectionStates.makeAsyncIterator()
        await expect(loop.next(), equals: .idle)
        client.connect()
        await expect(loop.next(), equals: .connecting)
        let server = await dialler.next()
        await server.welcome()
        await expect(loop.next(), equals: .live)
        server.end(code: 1012, reason: #"{"reconnectAfter":700}"#)
        guard case .reconnecting(.milliseconds(700), let why) = await loop.next() else {
            Issue.record("not reconnecting")
            return
        }
        expect(why.code, equals: .serverUnavailable)
        time.advance(by: .milliseconds(700))
        let second = await dialler.next()
        await second.welcome()
        var state = await loop.next()
        if state == .connecting { state = await loop.next() }
        expect(state, equals: .live)
        await client.disconnect()
        await expect(loop.next(), equals: .closed(nil))
    }

    @Test func `a lost connection makes elements stale, a new one makes them live`() async {
        let server = await connected()
        var loop = client.updates(of: "bob").makeAsyncIterator()
        async let first = loop.next()
        await server.subscribe(.online("bob", 1, name: "Bob"))
        await expect(first?.freshness, equals: .live)
        server.end(.lost("cable"))
        let stale = await loop.next()
        expect(stale?.freshness.staleSince != nil)
        expect(stale?.isOnline, equals: true)
        time.advance(by: .milliseconds(250))
        let again = await dialler.next()
        await again.welcome()
        await again.subscribe()
        await expect(loop.next()?.freshness, equals: .live)
    }

    @Test func `signing out ends loops and forgets`() async {
        let cache = PresenceCache()
        let client = PresenceClient.scripted(
            dialler, time, storage: Storage(cache: cache, writes: StoredWrites()))
        let loop = Task {
            var last: PersonPresence?
            for await bob in client.presence(of: "bob") { last = bob }
            return last
        }
        let server = await dialler.next()
        await server.welcome()
        await server.subscribe(.online("bob", 1))
        var own = client.presence(of: "bob").makeAsyncIterator()
        _ = await own.next()
        await client.signOut()
        await expect(server.message()?.body, equals: .disconnect)
        await expect(server.next(), equals: .close)
        _ = await loop.value
        await expect(own.next(), equals: nil)
        await expect(cache.read(["bob"]).isEmpty)
        await expect(client.me.user, equals: nil)
        await expect(client.connectionState, equals: .closed(nil))
    }

    @Test func `after a change of user the loops continue`() async {
        let server = await connected()
        var loop = client.presence(of: "bob").makeAsyncIterator()
        async let first = loop.next()
        await server.subscribe(.online("bob", 9))
        await expect(first?.version, equals: 9)
        await client.switchUser { "eve's" }
        await expect(server.message()?.body, equals: .disconnect)
        let next = await dialler.next()
        await expect(loop.next()?.isKnown, equals: false)
        await expect(next.welcome(user: "eve")?.token, equals: "eve's")
        await next.subscribe(.online("bob", 3))
        await expect(loop.next()?.version, equals: 3)
        await expect(client.me.user, equals: "eve")
    }

    @Test func `the connection ends with the last reference`() async {
        var mine: PresenceClient? = .scripted(dialler, time)
        mine?.connect()
        let server = await dialler.next()
        await server.welcome()
        while await mine?.connectionState != .live { await Task.yield() }
        weak let runner = mine?.runner
        mine = nil
        await expect(server.message()?.body, equals: .disconnect)
        await expect(server.next(), equals: .close)
        while runner != nil { await Task.yield() }
    }

    @Test func `a loop retains its client`() async {
        var mine: PresenceClient? = .scripted(dialler, time)
        var loop = mine?.presence(of: "bob").makeAsyncIterator()
        mine = nil
        async let first = loop?.next()
        let server = await dialler.next()
        await server.welcome()
        await server.subscribe(.online("bob", 1))
        await expect(first?.isOnline, equals: true)
    }

    // MARK: Steps

    private func connected() async -> ScriptedConnection {
        client.connect()
        let server = await dialler.next()
        await server.welcome()
        return server
    }

    /// Waits for the `unsubscribe` while the grace period passes.
    private func unsubscribed(_ user: UserID, by server: ScriptedConnection) async {
        async let message = server.message()
        while await client.runner.isObserved { await Task.yield() }
        time.advance(by: .seconds(1))
        await expect(message?.body, equals: .unsubscribe(users: [user], conversations: []))
    }
}
