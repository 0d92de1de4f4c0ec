import Foundation
import PresenceProtocol
import PresenceTesting
import Testing

@testable import PresenceKit

/// Behaviour that an app can rely on, with a client and with its fake.
@Suite(.timeLimit(.minutes(1))) struct ServiceRuleTests {
    private static let refused = PresenceError.Code.invalidID

    /// A client whose server has only bob, and the fake with the same users.
    private enum Kind: CaseIterable {
        case fake, client
    }

    private final class Stage: Sendable {
        let service: any PresenceService
        let goOffline: @Sendable () -> Void

        init(_ kind: Kind) async {
            switch kind {
            case .fake:
                let fake = FakePresence(user: "ana", people: [.online("bob", name: "Bob")])
                service = fake
                goOffline = { fake.goOffline() }
            case .client:
                let dialler = ScriptedDialler()
                let client = PresenceClient.scripted(dialler)
                service = client
                client.connect()
                let server = await dialler.next()
                await server.welcome(user: "ana")
                goOffline = { client.networkChanged(isAvailable: false) }
                // Ends with the client's connection.
                Task { await Self.serve(server) }
                for await state in client.connectionStates where state == .live { break }
            }
        }

        private static func serve(_ server: ScriptedConnection) async {
            func snapshot(_ user: UserID) -> UserSnapshot {
                user == "bob" ? .online("bob", 1, name: "Bob") : .unknown(user)
            }
            var profile = Profile(version: 1)
            while true {
                guard case .message(let message) = await server.next() else { return }
                switch message.body {
                case .get(let users): server.deliver(.users(id: message.id, users.map(snapshot), more: false))
                case .subscribe(let subscribe):
                    server.deliver(
                        .subscribed(
                            id: message.id, users: subscribe.users.map(snapshot),
                            conversations: subscribe.conversations.map {
                                .init(conversation: $0, version: 1, typing: ["ana", "bob"])
                            },
                            more: false))
                case .updateProfile(let changes):
                    profile.version += 1
                    if case .set(let name) = changes.displayName { profile.displayName = name }
                    server.deliver(.profileUpdated(id: message.id, profile))
                case .getVisibility:
                    server.deliver(.visibility(id: message.id, VisibilityLists(), more: false))
                case .disconnect: return
                default: if let id = message.id { server.deliver(.ok(id: id)) }
                }
            }
        }
    }

    private func expect(_ code: PresenceError.Code, _ kind: Kind, _ body: () async throws -> Void) async {
        do {
            try await body()
            Issue.record("\(kind): nothing was thrown")
        } catch {
            #expect((error as? PresenceError)?.code == code, "\(kind)")
        }
    }

    @Test(arguments: Kind.allCases) private func `each user is requested once, and a malformed id is rejected`(
        kind: Kind
    ) async throws {
        let stage = await Stage(kind)
        let people = try await stage.service.people(["bob", "cy", "bob", "cy"])
        #expect(people.map(\.user) == ["bob"] && people.missing == ["cy"])
        await expect(Self.refused, kind) { _ = try await stage.service.people(["bob", "no id"]) }
        var loop = stage.service.updates(of: "no id").makeAsyncIterator()
        #expect(await loop.next()?.problem?.code == Self.refused)
        #expect(await loop.next() == nil)
    }

    @Test(arguments: Kind.allCases)
    private func `a status chosen offline is queued, and the old one is shown as stale`(
        kind: Kind
    ) async throws {
        let stage = await Stage(kind)
        var loop = stage.service.meUpdates.makeAsyncIterator()
        while await loop.next()?.status?.status != .auto {}
        stage.goOffline()
        #expect(try await stage.service.setStatus(.busy) == .queued)
        var me = await loop.next()
        while me?.status?.freshness == .live { me = await loop.next() }
        #expect(me?.status?.status == .auto)
    }

    @Test(arguments: Kind.allCases) private func `a sign-out ends loops without another element, and later ones wait`(
        kind: Kind
    ) async throws {
        let stage = await Stage(kind)
        var loop = stage.service.meUpdates.makeAsyncIterator()
        while await loop.next()?.user != "ana" {}
        var bob = stage.service.updates(of: "bob").makeAsyncIterator()
        while await bob.next()?.isOnline != true {}
        await stage.service.signOut()
        while let me = await loop.next() { #expect(me.user == "ana", "\(kind)") }
        while await bob.next() != nil {}
        var later = stage.service.meUpdates.makeAsyncIterator()
        let nobody = await later.next()
        #expect(nobody == Me(problem: nobody?.problem) && nobody?.problem != nil, "\(kind)")
        await expect(.signedOut, kind) {
            try await stage.service.updateProfile(PresenceKit.ProfileChanges(displayName: "x"))
        }
        await expect(.signedOut, kind) { try await stage.service.setStatus(.busy) }
    }

    @Test(arguments: Kind.allCases) private func `after a disconnect, reads are stale and writes are queued or fail`(
        kind: Kind
    ) async throws {
        let stage = await Stage(kind)
        var loop = stage.service.updates(of: "bob").makeAsyncIterator()
        while await loop.next()?.isOnline != true {}
        await stage.service.disconnect()
        let people = try await stage.service.people(["bob", "dan"])
        #expect(people.first?.freshness.isLive == false && people.unanswered == ["dan"])
        #expect(try await stage.service.updateProfile(PresenceKit.ProfileChanges(displayName: "Ana")) == .queued)
        var (me, status) = (
            stage.service.meUpdates.makeAsyncIterator(), stage.service.statusUpdates.makeAsyncIterator()
        )
        #expect(await me.next()?.problem?.code == .notConnected, "\(kind)")
        #expect(await status.next()?.problem?.code == .notConnected, "\(kind)")
        await expect(.notConnected, kind) { try await stage.service.setStatus(.busy) }
        await expect(.notConnected, kind) { try await stage.service.block(["eve"]) }
        await expect(.notConnected, kind) { _ = try await stage.service.createConversation(with: ["bob"]) }
    }

    @Test(arguments: Kind.allCases) private func `typing excludes the signed-in user, and is empty while offline`(
        kind: Kind
    ) async throws {
        let stage = await Stage(kind)
        var loop = stage.service.typing(in: "c1").makeAsyncIterator()
        (stage.service as? FakePresence)?.setTyping(["ana", "bob"], in: "c1")
        var typing = await loop.next()
        while typing?.users.isEmpty == true { typing = await loop.next() }
        #expect(typing?.users == ["bob"])
        stage.goOffline()
        while typing?.freshness.isLive == true { typing = await loop.next() }
        #expect(typing?.users == [])
    }

    @Test(arguments: Kind.allCases) private func `a saved profile reaches loops that observe this user like any other`(
        kind: Kind
    ) async throws {
        let stage = await Stage(kind)
        var loop = stage.service.profile(of: "ana").makeAsyncIterator()
        _ = await loop.next()
        guard
            case .saved(let profile) = try await stage.service.updateProfile(
                PresenceKit.ProfileChanges(displayName: "Ana"))
        else {
            Issue.record("not saved")
            return
        }
        #expect(profile.displayName == "Ana")
        while await loop.next()?.displayName != "Ana" {}
    }

    @Test(arguments: Kind.allCases) private func `a roster names the changed users, and offline omits unknown ones`(
        kind: Kind
    ) async throws {
        let stage = await Stage(kind)
        var loop = stage.service.roster(of: ["bob", "cy"]).makeAsyncIterator()
        var roster = await loop.next()
        while roster?.isComplete == false { roster = await loop.next() }
        #expect(roster?.people.map(\.user) == ["bob", "cy"])
        stage.goOffline()
        while roster?.freshness.isLive == true { roster = await loop.next() }
        var later = stage.service.roster(of: ["bob", "dan"]).makeAsyncIterator()
        #expect(await later.next()?.isComplete == false)
    }
}
