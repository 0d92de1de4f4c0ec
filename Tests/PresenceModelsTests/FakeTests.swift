import Foundation
import PresenceKit
import PresenceTesting
import Testing

/// The fake follows a client's rules.
@Suite(.timeLimit(.minutes(1))) struct FakeTests {
    private let presence = FakePresence(user: "ana", people: [.online("bob", name: "Bob")])

    @Test func `reads return the missing ids, and the reason while offline`() async throws {
        let people = try await presence.people(["bob", "nobody"])
        #expect(people.map(\.user) == ["bob"] && people.missing == ["nobody"] && people.isComplete)
        #expect(try await presence.person("nobody") == nil)
        presence.goOffline(at: .inTests)
        let held = try await presence.people(["bob", "nobody", "stranger"])
        #expect(held.first?.freshness == .stale(since: .inTests))
        #expect(held.missing == ["nobody", "stranger"], "one is known not to be there, of the other nothing is known")
        #expect(held.unanswered == ["stranger"] && held.problem?.code == .notConnected)
        #expect(try await presence.person("nobody") == nil)
        await #expect(throws: PresenceError.self) { try await presence.person("stranger") }
    }

    @Test func `writes are queued or fail while offline, and are made after it`() async throws {
        presence.goOffline()
        #expect(try await presence.updateProfile(ProfileChanges(displayName: "A"), offline: .queue) == .queued)
        #expect(try await presence.updateProfile(ProfileChanges(locale: "de"), offline: .queue) == .queued)
        #expect(try await presence.setStatus(.busy) == .queued)
        await #expect(throws: PresenceError.self) {
            try await presence.updateProfile(ProfileChanges(), offline: .fail)
        }
        await #expect(throws: PresenceError.self) { try await presence.block(["eve"]) }
        presence.goOnline()
        #expect(presence.me.profile?.displayName == "A" && presence.me.profile?.locale == "de")
    }

    @Test func `changes by others while offline show with the next connection`() async throws {
        presence.goOffline()
        presence.set(.offline("bob", name: "Bob"))
        presence.setTyping(["bob"], in: "c1")
        #expect(try await presence.person("bob")?.isOnline == true, "as last known")
        var typing = presence.typing(in: "c1").makeAsyncIterator()
        #expect(await typing.next()?.users == [])
        presence.goOnline()
        #expect(try await presence.person("bob")?.isOnline == false)
        #expect(await typing.next()?.users == ["bob"])
    }

    @Test func `a fake that starts offline is offline, and one that signed out has no users`() async throws {
        let away = FakePresence(people: [.online("bob")], connection: .closed(nil))
        #expect(try await away.people(["bob"]).problem?.code == .notConnected)
        var bob = away.updates(of: "bob").makeAsyncIterator()
        let shown = await bob.next()
        #expect(shown?.freshness.isLive == false && shown?.problem?.code == .notConnected)
        away.goOnline()
        let live = await bob.next()
        #expect(live?.freshness == .live && live?.problem == nil)
        try await presence.block(["eve"])
        await presence.signOut()
        #expect(try await presence.people(["bob"]).unanswered == ["bob"])
        presence.goOnline()
        #expect(try await presence.visibility().blocked == [])
    }

    @Test func `values that a client rejects are rejected, and not recorded as calls`() async throws {
        func code(_ body: () async throws -> Void) async -> PresenceError.Code? {
            do {
                try await body()
                return nil
            } catch {
                return (error as? PresenceError)?.code
            }
        }
        #expect(await code { _ = try await presence.createConversation(with: ["no id"]) } == .invalidID)
        #expect(await code { _ = try await presence.createConversation(with: ["bob"], key: "a b") } == .invalidID)
        #expect(await code { try await presence.block(["no id"]) } == .invalidID)
        let long = ProfileChanges(displayName: .set(String(repeating: "x", count: 51)))
        #expect(await code { try await presence.updateProfile(long) } == .validationFailed)
        #expect(presence.calls.isEmpty)
        var typing = presence.typing(in: "no id").makeAsyncIterator()
        #expect(await typing.next()?.problem?.code == .invalidID)
        #expect(await typing.next() == nil)
        guard case .saved(let profile) = try await presence.updateProfile(ProfileChanges(displayName: " Ana ")) else {
            Issue.record("not saved")
            return
        }
        #expect(profile.displayName == "Ana")
    }

    @Test func `a status has the time at which it is cleared, by the test's clock`() async throws {
        presence.clock.advance(by: .seconds(10))
        try await presence.setStatus(.busy, text: .keep, clearAfter: .seconds(60))
        #expect(presence.me.status?.clearsAt == .inTests + 70)
        #expect(await presence.serverNow == .inTests + 10)
        let time = await presence.serverTime
        presence.clock.advance(by: .seconds(5))
        #expect(time.now == .inTests + 15)
    }

    @Test func `the visibility is stored, and observed with the signed-in user`() async throws {
        try await presence.setVisibility(presence: .contacts, lastSeen: nil)
        try await presence.addContacts(["bob", "cy"])
        try await presence.removeContacts(["cy"])
        try await presence.block(["eve", "mallory"])
        try await presence.unblock(["mallory"])
        try await presence.setVisibility(receipts: .nobody, findable: .contacts)
        let visibility = try await presence.visibility()
        #expect(
            visibility
                == MyVisibility(
                    presence: .contacts, lastSeen: .everyone, receipts: .nobody, findable: .contacts, contacts: ["bob"],
                    blocked: ["eve"]))
        #expect(
            presence.me.visibility
                == MyAudiences(
                    presence: .contacts, receipts: .nobody, findable: .contacts, contactsCount: 1, blockedCount: 1))
        let error = await #expect(throws: PresenceError.self) {
            try await presence.setVisibility(receipts: .contacts)
        }
        #expect(error?.code == .validationFailed)
    }

    @Test func `a scripted error applies once, to the matching calls`() async throws {
        presence.fail({ if case .setStatus = $0 { true } else { false } }, with: PresenceError(.forbidden, "no"))
        _ = try await presence.people(["bob"])
        await #expect(throws: PresenceError(.forbidden, "no")) { try await presence.setStatus(.busy) }
        #expect(try await presence.setStatus(.busy) == .saved)
    }

    @Test func `a loop gets the newest value, and ends with the sign-out`() async {
        var loop = presence.presence(of: "bob").makeAsyncIterator()
        #expect(await loop.next()?.isOnline == true)
        presence.set(.online("bob", status: .away))
        presence.set(.offline("bob"))
        #expect(await loop.next()?.status == .offline)
        await presence.signOut()
        while await loop.next() != nil {}
        #expect(await presence.connectionState == .closed(nil))
    }

    @Test func `a cancelled loop ends, and a cancelled sleep too`() async {
        let loop = Task { [presence] in
            for await _ in presence.updates(of: "bob") {}
        }
        let sleep = Task { [presence] in try await presence.clock.sleep(for: .seconds(1)) }
        await presence.clock.sleepers()
        loop.cancel()
        sleep.cancel()
        await loop.value
        guard case .failure(let error) = await sleep.result else {
            Issue.record("not cancelled")
            return
        }
        #expect(error is CancellationError)
    }

    @Test func `a held call ends when it is cancelled, and so do waits for missing events`() async {
        presence.hold()
        let call = Task { [presence] in try await presence.people(["bob"]) }
        let sleepers = Task { [presence] in await presence.clock.sleepers(5) }
        let wait = Task { @MainActor in await until { false } }
        while presence.calls.isEmpty { await Task.yield() }
        for task in [call.cancel, sleepers.cancel, wait.cancel] { task() }
        guard case .failure(let error) = await call.result else {
            Issue.record("not cancelled")
            return
        }
        #expect(error is CancellationError)
        await sleepers.value
        await wait.value
    }

    @Test func `a roster names the users that differ from the loop's previous one`() async {
        presence.set(.offline("cy"))
        var loop = presence.roster(of: ["bob", "cy"]).makeAsyncIterator()
        #expect(await loop.next()?.changed == ["bob", "cy"])
        presence.set(.offline("bob"))
        #expect(await loop.next()?.changed == ["bob"])
    }

    @Test func `each key creates one conversation`() async throws {
        let room = try await presence.createConversation(with: ["bob"], key: "k")
        #expect(room.participants == ["ana", "bob"])
        #expect(try await presence.createConversation(with: ["bob"], key: "k") == room)
        #expect(try await presence.createConversation(with: ["bob"]) != room)
    }
}
