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
        #expect(server.url.path == "/v1/ws")
        #expect(server.subprotocol == "presence.v1")
        await server.welcome()
        #expect(await server.subscribe(.online("bob", 1)) == ["bob"])
        #expect(await first?.isOnline == true)
        server.deliver(.event("bob", 2, .busy))
        let second = await loop.next()
        #expect(second?.status == .busy)
        #expect(second?.freshness == .live)
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
        #expect(await loop.next()?.version == 50)
    }

    @Test func `the end of the last loop unsubscribes`() async {
        let server = await connected()
        do {
            var other = client.profile(of: "bob").makeAsyncIterator()
            async let element = other.next()
            await server.subscribe(.online("bob", 1))
            _ = await element
            for await bob in client.presence(of: "bob") {
                #expect(bob.user == "bob")
                break
            }
        }
        client.setActivity(.idle)
        #expect(await server.message()?.body == .activity(.idle))
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
        #expect(await task.value <= 1)
        // The remaining loop is the last one.
        server.deliver(.event("bob", 2))
        #expect(await loop.next()?.version == 2)
    }

    @Test func `a task that is cancelled before the first element ends, too`() async {
        let task = Task { [client] in
            for await _ in client.presence(of: "bob") {}
            return true
        }
        let server = await dialler.next()
        task.cancel()
        #expect(await task.value)
        await server.welcome()
    }

    @Test func `a malformed id yields one element with that problem`() async {
        var elements: [PersonPresence] = []
        for await element in client.presence(of: "no id") { elements.append(element) }
        #expect(elements.count == 1)
        guard let error = elements.first?.problem else {
            Issue.record("not refused")
            return
        }
        #expect(error.code == .invalidID)
        for await profile in client.profile(of: "") { #expect(profile.freshness.isLive == false) }
        for await person in client.updates(of: "é") { #expect(!person.isFound) }
        for await typing in client.typing(in: String(repeating: "x", count: 129)) { #expect(!typing.isAnyone) }
        #expect(await client.connectionState == .idle)
    }

    @Test func `a roster is one loop over many users`() async {
        let server = await connected()
        var loop = client.roster(of: ["bob", "cy", "bob"]).makeAsyncIterator()
        async let first = loop.next()
        #expect(await server.subscribe(.online("bob", 1), .unknown("cy")) == ["bob", "cy"])
        #expect(await first?.users == ["bob", "cy"])
        server.deliver(.event("cy", 4, .away))
        let second = await loop.next()
        #expect(second?.changed == ["cy"])
        #expect(second?["cy"]?.presence.status == .away)
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
            for await isOnline in group { #expect(isOnline) }
        }
        #expect(await answered == ["bob"])
        for await element in bob {
            #expect(element.isOnline)
            break
        }
    }

    @Test func `the connection states show the connect and a lost connection`() async {
        var loop = client.connectionStates.makeAsyncIterator()
        #expect(await loop.next() == .idle)
        client.connect()
        #expect(await loop.next() == .connecting)
        let server = await dialler.next()
        await server.welcome()
        #expect(await loop.next() == .live)
        server.end(code: 1012, reason: #"{"reconnectAfter":700}"#)
        guard case .reconnecting(.milliseconds(700), let why) = await loop.next() else {
            Issue.record("not reconnecting")
            return
        }
        #expect(why.code == .serverUnavailable)
        time.advance(by: .milliseconds(700))
        let second = await dialler.next()
        await second.welcome()
        var state = await loop.next()
        if state == .connecting { state = await loop.next() }
        #expect(state == .live)
        await client.disconnect()
        #expect(await loop.next() == .closed(nil))
    }

    @Test func `a lost connection makes elements stale, a new one makes them live`() async {
        let server = await connected()
        var loop = client.updates(of: "bob").makeAsyncIterator()
        async let first = loop.next()
        await server.subscribe(.online("bob", 1, name: "Bob"))
        #expect(await first?.freshness == .live)
        server.end(.lost("cable"))
        let stale = await loop.next()
        #expect(stale?.freshness.staleSince != nil)
        #expect(stale?.isOnline == true)
        time.advance(by: .milliseconds(250))
        let again = await dialler.next()
        await again.welcome()
        await again.subscribe()
        #expect(await loop.next()?.freshness == .live)
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
        #expect(await server.message()?.body == .disconnect)
        #expect(await server.next() == .close)
        _ = await loop.value
        #expect(await own.next() == nil)
        #expect(await cache.read(["bob"]).isEmpty)
        #expect(await client.me.user == nil)
        #expect(await client.connectionState == .closed(nil))
    }

    @Test func `after a change of user the loops continue`() async {
        let server = await connected()
        var loop = client.presence(of: "bob").makeAsyncIterator()
        async let first = loop.next()
        await server.subscribe(.online("bob", 9))
        #expect(await first?.version == 9)
        await client.switchUser { "eve's" }
        #expect(await server.message()?.body == .disconnect)
        let next = await dialler.next()
        #expect(await loop.next()?.isKnown == false)
        #expect(await next.welcome(user: "eve")?.token == "eve's")
        await next.subscribe(.online("bob", 3))
        #expect(await loop.next()?.version == 3)
        #expect(await client.me.user == "eve")
    }

    @Test func `the connection ends with the last reference`() async {
        var mine: PresenceClient? = .scripted(dialler, time)
        mine?.connect()
        let server = await dialler.next()
        await server.welcome()
        while await mine?.connectionState != .live { await Task.yield() }
        weak let runner = mine?.runner
        mine = nil
        #expect(await server.message()?.body == .disconnect)
        #expect(await server.next() == .close)
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
        #expect(await first?.isOnline == true)
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
        #expect(await message?.body == .unsubscribe(users: [user], conversations: []))
    }
}
