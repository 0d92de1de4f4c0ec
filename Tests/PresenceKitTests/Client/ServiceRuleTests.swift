import Expectations
import Foundation
import PresenceTesting
import Testing

@testable import PresenceKit

/// Behaviour that an app can rely on, with a client on a server in memory.
@Suite(.timeLimit(.minutes(1))) struct ServiceRuleTests {
    private static let refused = PresenceError.Code.invalidID

    /// Ana's client, live on a server that has only bob.
    private struct Stage {
        let server = InMemoryServer()
        let service: PresenceClient

        init() async {
            server.set(.online("bob", name: "Bob"))
            server.add(conversation: "c1", of: ["ana", "bob"])
            service = server.client(as: "ana")
            service.connect()
            for await state in service.connectionStates where state == .live { break }
        }

        func goOffline() { server.goOffline() }
    }

    private func expectError(_ code: PresenceError.Code, _ body: () async throws -> Void) async {
        do {
            try await body()
            Issue.record("nothing was thrown")
        } catch {
            expect((error as? PresenceError)?.code, equals: code)
        }
    }

    @Test func `each user is requested once, and a malformed id is rejected`() async throws {
        let stage = await Stage()
        let people = try await stage.service.people(["bob", "cy", "bob", "cy"])
        expect(people.map(\.user) == ["bob"] && people.missing == ["cy"])
        await expectError(Self.refused) { _ = try await stage.service.people(["bob", "no id"]) }
        var loop = stage.service.updates(of: "no id").makeAsyncIterator()
        await expect(loop.next()?.problem?.code, equals: Self.refused)
        await expect(loop.next(), equals: nil)
    }

    @Test func `a status chosen offline is queued, and the old one is shown as stale`() async throws {
        let stage = await Stage()
        var loop = stage.service.meUpdates.makeAsyncIterator()
        while await loop.next()?.status?.status != .auto {}
        stage.goOffline()
        try await expect(stage.service.setStatus(.busy), equals: .queued)
        var me = await loop.next()
        while me?.status?.freshness == .live { me = await loop.next() }
        expect(me?.status?.status, equals: .auto)
    }

    @Test func `a sign-out ends loops without another element, and later ones wait`() async throws {
        let stage = await Stage()
        var loop = stage.service.meUpdates.makeAsyncIterator()
        while await loop.next()?.user != "ana" {}
        var bob = stage.service.updates(of: "bob").makeAsyncIterator()
        while await bob.next()?.isOnline != true {}
        await stage.service.signOut()
        while let me = await loop.next() { expect(me.user, equals: "ana") }
        while await bob.next() != nil {}
        var later = stage.service.meUpdates.makeAsyncIterator()
        let nobody = await later.next()
        expect(nobody == Me(problem: nobody?.problem) && nobody?.problem != nil)
        await expectError(.signedOut) {
            try await stage.service.updateProfile(PresenceKit.ProfileChanges(displayName: "x"))
        }
        await expectError(.signedOut) { try await stage.service.setStatus(.busy) }
    }

    @Test func `after a disconnect, reads are stale and writes are queued or fail`() async throws {
        let stage = await Stage()
        var loop = stage.service.updates(of: "bob").makeAsyncIterator()
        while await loop.next()?.isOnline != true {}
        await stage.service.disconnect()
        let people = try await stage.service.people(["bob", "dan"])
        expect(people.first?.freshness.isLive == false && people.unanswered == ["dan"])
        try await expect(stage.service.updateProfile(PresenceKit.ProfileChanges(displayName: "Ana")), equals: .queued)
        var (me, status) = (
            stage.service.meUpdates.makeAsyncIterator(), stage.service.statusUpdates.makeAsyncIterator()
        )
        await expect(me.next()?.problem?.code, equals: .notConnected)
        await expect(status.next()?.problem?.code, equals: .notConnected)
        await expectError(.notConnected) { try await stage.service.setStatus(.busy) }
        await expectError(.notConnected) { try await stage.service.block(["eve"]) }
        await expectError(.notConnected) { _ = try await stage.service.createConversation(with: ["bob"]) }
    }

    @Test func `typing excludes the signed-in user, and is empty while offline`() async throws {
        let stage = await Stage()
        var loop = stage.service.typing(in: "c1").makeAsyncIterator()
        stage.server.setTyping(["ana", "bob"], in: "c1")
        var typing = await loop.next()
        while typing?.users.isEmpty == true { typing = await loop.next() }
        expect(typing?.users, equals: ["bob"])
        stage.goOffline()
        while typing?.freshness.isLive == true { typing = await loop.next() }
        expect(typing?.users, equals: [])
    }

    @Test func `a saved profile reaches loops that observe this user like any other`() async throws {
        let stage = await Stage()
        var loop = stage.service.profile(of: "ana").makeAsyncIterator()
        _ = await loop.next()
        guard
            case .saved(let profile) = try await stage.service.updateProfile(
                PresenceKit.ProfileChanges(displayName: "Ana"))
        else {
            Issue.record("not saved")
            return
        }
        expect(profile.displayName, equals: "Ana")
        while await loop.next()?.displayName != "Ana" {}
    }

    @Test func `a roster names the changed users, and offline omits unknown ones`() async throws {
        let stage = await Stage()
        var loop = stage.service.roster(of: ["bob", "cy"]).makeAsyncIterator()
        var roster = await loop.next()
        while roster?.isComplete == false { roster = await loop.next() }
        expect(roster?.people.map(\.user), equals: ["bob", "cy"])
        stage.goOffline()
        while roster?.freshness.isLive == true { roster = await loop.next() }
        var later = stage.service.roster(of: ["bob", "dan"]).makeAsyncIterator()
        await expect(later.next()?.isComplete, equals: false)
    }
}
