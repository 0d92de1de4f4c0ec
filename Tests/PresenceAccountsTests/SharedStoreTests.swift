import Expectations
import Foundation
import PresenceKit
import PresenceTesting
import Testing

@testable import PresenceAccounts

/// Two processes of one app that share a store, like an app and its extension.
@Suite(.timeLimit(.minutes(1))) struct SharedStoreTests {
    private func both() async throws -> (bench: Bench, app: PresenceAccount, other: PresenceAccount) {
        let (bench, app) = try await Bench.signedIn()
        let other = bench.launch()
        await other.reaches { $0 == .signedIn(Bench.ana, .live) }
        return (bench, app, other)
    }

    @Test func `each process renews the session that the other stored, any number of times`() async throws {
        let (bench, app, other) = try await both()
        for account in [app, app, app, other, other, app, other] {
            try await account.refresh()
            expect(bench.store.session?.refreshToken, equals: bench.server.refreshToken())
        }
        expect(bench.server.change { $0.grants[1] } != nil)
    }

    @Test func `an account event does not restore an older token`() async throws {
        let (bench, app, other) = try await both()
        for _ in 1...2 { try await other.refresh() }
        var changed = Bench.ana
        changed.preferredLanguage = "pt-PT"
        await app.heard(changed, version: 2)
        expect(bench.store.session?.refreshToken, equals: bench.server.refreshToken())
        expect(bench.store.session?.account, equals: changed)
        try await other.refresh()
        try await app.refresh()
    }

    @Test func `a sign-out in one process takes effect in the other with its next renewal`() async throws {
        let (bench, app, other) = try await both()
        // The server is not notified.
        bench.goOffline()
        try await app.signOut()
        bench.reach()
        await other.heard(Account(id: "u-1", email: "new@example.org"), version: 2)
        expect(bench.store.session, equals: nil)
        await #expect(throws: PresenceError.account(.notSignedIn)) { try await other.refresh() }
        expect(other.stateFeed.current == .signedOut(.notSignedIn) && bench.store.session == nil)
        await expect(other.currentAccount, equals: nil)
    }

    @Test func `a new sign-in in one continues in the other, even if its token is rejected meanwhile`() async throws {
        let (bench, app, other) = try await both()
        let gate = Gate()
        bench.transport.respond { [server = bench.server] request in
            let isRefresh = request.url.path.hasSuffix("refresh")
            if isRefresh { await gate.pass() }
            return server.handle(request)
        }
        async let renewed = other.refresh()
        await gate.arrival()
        bench.reach()
        try await app.signIn(email: "ana@example.org", password: "correct horse")
        while bench.server.change({ $0.grants[1] }) != nil { await Task.yield() }
        await gate.open()
        try await expect(renewed, equals: Bench.ana)
        try await expect(other.accessToken().hasPrefix("a-2-"))
        expect(other.stateFeed.current, equals: .signedIn(Bench.ana, .live))
    }

    @Test func `a sign-in of another user in one takes effect in the other with its next renewal`() async throws {
        let (bench, _, other) = try await both()
        // The model server has one user and replies for that one, which is not a valid reply here.
        bench.server.change { $0.grants[9] = 0 }
        let bob = Account(id: "u-2", email: "bob@example.org")
        let kept = StoredSession(refreshToken: "r-9-0", account: bob, savedAt: Date(timeIntervalSince1970: 7))
        try bench.store.save(kept)
        await #expect(throws: PresenceError.account(.notSignedIn)) { try await other.refresh() }
        expect(other.stateFeed.current.account, equals: bob)
    }

    @Test func `a store that cannot be read ends no session`() async throws {
        let (bench, _, other) = try await both()
        bench.store.failure = CocoaError(.fileReadNoPermission)
        let error = await #expect(throws: PresenceError.self) { try await other.refresh() }
        expect(error?.code == .storageFailed && other.stateFeed.current == .signedIn(Bench.ana, .live))
        bench.store.failure = nil
        try await other.refresh()
    }
}
