import Expectations
import Foundation
import PresenceKit
import PresenceTesting
import Testing

@testable import PresenceAccounts

/// The state after a launch, and how loops follow it.
@Suite(.timeLimit(.minutes(1))) struct LaunchTests {
    private static let stale = AuthState.signedIn(Bench.ana, .stale(since: Bench.kept.savedAt))

    @Test func `who was signed in is shown as last known, then confirmed`() async throws {
        let bench = Bench(kept: Bench.kept)
        let gate = Gate()
        bench.transport.respond { [server = bench.server] in
            await gate.pass()
            return server.handle($0)
        }
        bench.server.change { $0.username = "ana.b" }
        let account = bench.launch()
        await account.reaches { $0 == Self.stale }
        await gate.open()
        var confirmed = Bench.ana
        confirmed.username = "ana.b"
        await account.reaches { $0 == .signedIn(confirmed, .live) }
        expect(bench.store.session?.account, equals: confirmed)
    }

    @Test func `who was signed in stays so after a launch without a network`() async throws {
        let bench = Bench(kept: Bench.kept)
        bench.goOffline()
        let account = bench.launch()
        await account.reaches { $0 == Self.stale }
        await #expect(throws: PresenceError.self) { try await account.refresh() }
        expect(account.stateFeed.current, equals: Self.stale)
        await expect(account.currentAccount, equals: Bench.ana)
        bench.reach()
        try await expect(account.refresh(), equals: Bench.ana)
        expect(account.stateFeed.current, equals: .signedIn(Bench.ana, .live))
    }

    @Test func `an account that was deleted elsewhere is signed out at launch`() async throws {
        let bench = Bench(kept: Bench.kept)
        bench.server.change { $0.grants = [:] }
        let account = bench.launch()
        await account.reaches { $0 == .signedOut(.refused(.tokenExpired)) }
        expect(bench.store.session, equals: nil)
    }

    @Test func `a session that cannot be read now signs no user out`() async throws {
        let bench = Bench(kept: Bench.kept)
        bench.store.failure = CocoaError(.fileReadNoPermission)
        let account = bench.launch()
        let error = await #expect(throws: PresenceError.self) { try await account.accessToken() }
        expect(error?.code == .storageFailed && account.stateFeed.current == .restoring)
        bench.store.failure = nil
        try await expect(account.accessToken().hasPrefix("a-1-"))
        await account.reaches { $0 == .signedIn(Bench.ana, .live) }
    }

    @Test func `a session that becomes readable after an unlock is read then`() async throws {
        let bench = Bench(kept: Bench.kept)
        bench.store.failure = CocoaError(.fileReadNoPermission)
        let (lines, line) = AsyncStream.makeStream(of: String.self)
        let account = bench.launch(logger: PresenceLogger { _, message in line.yield(message) })
        await #expect(throws: PresenceError.self) { try await account.accessToken() }
        // The first attempts have failed: the launch's own, and the call's.
        var failures = lines.filter { $0.contains("cannot be read") }.makeAsyncIterator()
        for _ in 1...2 { _ = await failures.next() }
        bench.store.failure = nil
        NotificationCenter.default.post(name: Unlocks.names[0], object: nil)
        await account.reaches { $0 == .signedIn(Bench.ana, .live) }
    }

    @Test func `each loop gets the present state at once, and the newest after each change`() async throws {
        let (_, account) = try await Bench.signedIn()
        var first = account.states.makeAsyncIterator()
        await expect(first.next(), equals: .signedIn(Bench.ana, .live))
        try await account.signOut()
        try await account.signIn(email: "ana@example.org", password: "correct horse")
        var second = account.states.makeAsyncIterator()
        await expect(second.next(), equals: .signedIn(Bench.ana, .live))
        // A slow loop misses intermediate states.
        await expect(first.next(), equals: .signedIn(Bench.ana, .live))
        try await account.deleteAccount(password: "correct horse")
        await expect(first.next(), equals: .signedOut(.accountDeleted))
        await expect(second.next(), equals: .signedOut(.accountDeleted))
    }

    @Test func `ended loops are removed, and a cancelled one ends`() async throws {
        let (_, account) = try await Bench.signedIn()
        let loop = Task { for await _ in account.states {} }
        while account.stateFeed.count == 0 { await Task.yield() }
        loop.cancel()
        await loop.value
        while account.stateFeed.count > 0 { await Task.yield() }
    }

    @Test func `an account without references is released`() async throws {
        weak var weakly: PresenceAccount?
        do {
            let (_, account) = try await Bench.signedIn()
            weakly = account
            expect(weakly != nil)
        }
        while weakly != nil { await Task.yield() }
    }

    @Test func `an event from the server is newer than the response to an earlier request`() async throws {
        let (bench, account) = try await Bench.signedIn()
        let gate = Gate()
        bench.transport.respond { [server = bench.server] in
            let answer = server.handle($0)
            await gate.pass()
            return answer
        }
        async let slow = account.currentUser()
        while bench.server.count("GET /v1/me") == 0 { await Task.yield() }
        var newer = Bench.ana
        newer.preferredLanguage = "pt-PT"
        var older = Bench.ana
        older.preferredLanguage = "fr-FR"
        await account.heard(newer, version: 2)
        await account.heard(older, version: 1)
        await gate.open()
        _ = try await slow
        expect(account.stateFeed.current, equals: .signedIn(newer, .live))
        expect(bench.store.session?.account, equals: newer)
        // An event about another user has no effect.
        await account.heard(Account(id: "u-2", email: "x@example.org"), version: 3)
        expect(account.stateFeed.current, equals: .signedIn(newer, .live))
    }
}
