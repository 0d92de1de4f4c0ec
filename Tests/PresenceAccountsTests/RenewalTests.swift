import Expectations
import Foundation
import PresenceKit
import PresenceTesting
import Testing

@testable import PresenceAccounts

/// Access tokens: when they are renewed, and what ends a session.
@Suite(.timeLimit(.minutes(1))) struct RenewalTests {
    private static let refresh = "POST /v1/sessions/refresh"

    @Test func `a token is renewed when less than a minute is left, and not earlier`() async throws {
        let (bench, account) = try await Bench.signedIn()
        let first = try await account.accessToken()
        bench.time.pass(.seconds(3_539))
        try await expect(account.accessToken(), equals: first)
        bench.time.pass(.seconds(1))
        try await expect(account.accessToken() != first)
        expect(bench.server.count(Self.refresh) == 2 && bench.store.session?.refreshToken == "r-1-2")
    }

    @Test func `a hundred callers wait for one renewal`() async throws {
        let (bench, account) = try await Bench.signedIn()
        bench.time.pass(.seconds(4_000))
        let gate = Gate()
        bench.transport.respond { [server = bench.server] in
            await gate.pass()
            return server.handle($0)
        }
        let tokens = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<100 { group.addTask { try await account.accessToken() } }
            await gate.arrival()
            await gate.open()
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        expect(tokens.count == 1 && bench.server.count(Self.refresh) == 2)
    }

    @Test func `a hundred requests with a rejected token lead to one renewal`() async throws {
        let (bench, account) = try await Bench.signedIn()
        let token = try await account.accessToken()
        bench.server.change { _ = $0.refused.insert(token) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<100 { group.addTask { _ = try await account.currentUser() } }
            try await group.waitForAll()
        }
        expect(bench.server.count(Self.refresh), equals: 2)
        var read = Bench.ana
        (read.displayName, read.profileImageURL) = ("ana", URL(string: "https://example.org/a.jpg"))
        await expect(account.currentAccount, equals: read)
    }

    @Test(arguments: [
        HTTPResponse.error(500, "internal"), .error(503, "unavailable", retryAfter: 1_500),
        .error(429, "rate_limited", retryAfter: 1_500), .error(404, "not_found"), .error(400, "bad_request"),
        .error(403, "forbidden"), HTTPResponse(status: 502, body: Data("<html>Bad Gateway</html>".utf8)),
        HTTPResponse(status: 401, body: Data("<html>Sign in to the hotel's network</html>".utf8)),
        HTTPResponse(status: 302), HTTPResponse(status: 200, body: Data("<html>Welcome</html>".utf8)),
        .json(
            #"{"user":"u-2","accessToken":"x","expiresIn":1,"refreshToken":"y","account":{"user":"u-2","email":"b"}}"#),
    ])
    func `only a rejection signs a user out`(answer: HTTPResponse) async throws {
        let (bench, account) = try await Bench.signedIn()
        bench.time.pass(.seconds(4_000))
        bench.transport.respond { _ in answer }
        await #expect(throws: PresenceError.self) { try await account.accessToken() }
        expect(account.stateFeed.current == .signedIn(Bench.ana, .live) && bench.store.session != nil)
        bench.goOffline()
        await #expect(throws: PresenceError.self) { try await account.accessToken() }
        bench.reach()
        try await expect(account.accessToken().hasPrefix("a-1-"))
    }

    @Test(arguments: ["token_expired", "token_reused", nil] as [String?])
    func `a rejection signs out with its reason, and removes the stored session`(reason: String?) async throws {
        let (bench, account) = try await Bench.signedIn()
        bench.time.pass(.seconds(4_000))
        bench.transport.respond { _ in .error(401, "unauthorized", reason: reason) }
        let error = await #expect(throws: PresenceError.self) { try await account.accessToken() }
        expect(error?.code, equals: .unauthorized)
        expect(
            account.stateFeed.current, equals: .signedOut(.refused(reason.map(PresenceError.Reason.init(rawValue:)))))
        expect(bench.store.session, equals: nil)
        await #expect(throws: PresenceError.account(.notSignedIn)) { try await account.accessToken() }
    }

    @Test func `a session that was ended elsewhere is noticed by the next request`() async throws {
        let (bench, account) = try await Bench.signedIn()
        bench.server.change { $0.grants = [:] }
        await #expect(throws: PresenceError.self) { try await account.currentUser() }
        expect(account.stateFeed.current, equals: .signedOut(.refused(.tokenExpired)))
    }

    @Test func `a token that is still valid is used while it cannot be renewed`() async throws {
        let (bench, account) = try await Bench.signedIn()
        let token = try await account.accessToken()
        bench.time.pass(.seconds(3_550))
        bench.goOffline()
        try await expect(account.accessToken(), equals: token)
        bench.time.pass(.seconds(50))
        let error = await #expect(throws: PresenceError.self) { try await account.accessToken() }
        expect(error?.code == .notConnected && error?.outcomeUnknown == false)
    }

    @Test func `lost responses never end the session`() async throws {
        let (bench, account) = try await Bench.signedIn()
        for round in 1...5 {
            bench.time.pass(.seconds(4_000))
            bench.transport.respond { [server = bench.server] in
                _ = server.handle($0)
                throw HTTPFailure("lost", wasSent: true)
            }
            await #expect(throws: PresenceError.self) { try await account.accessToken() }
            bench.reach()
            // Also when the app is relaunched in between.
            let next = round.isMultiple(of: 2) ? bench.launch() : account
            try await expect(next.accessToken().hasPrefix("a-1-"))
            if round.isMultiple(of: 2) { _ = try await account.accessToken() }
        }
        expect(bench.server.change { $0.grants[1] } != nil)
    }

    @Test func `a token is stored before the access token that came with it is used`() async throws {
        let (bench, account) = try await Bench.signedIn()
        bench.time.pass(.seconds(4_000))
        bench.transport.respond { [server = bench.server, store = bench.store] request in
            if let token = request.headers["Authorization"], token.hasSuffix("-2") {
                expect(store.session?.refreshToken, equals: "r-1-2")
            }
            return server.handle(request)
        }
        _ = try await account.currentUser()
        expect(bench.store.session?.refreshToken, equals: "r-1-2")
    }

    @Test func `a renewed session that cannot be stored is not used, and the next renewal succeeds`() async throws {
        let (bench, account) = try await Bench.signedIn()
        bench.time.pass(.seconds(4_000))
        bench.store.failure = CocoaError(.fileWriteOutOfSpace)
        for _ in 0..<3 {
            let error = await #expect(throws: PresenceError.self) { try await account.accessToken() }
            expect(error?.code, equals: .storageFailed)
        }
        bench.store.failure = nil
        try await expect(account.accessToken().hasPrefix("a-1-"))
        expect(bench.store.session?.refreshToken, equals: bench.server.refreshToken())
    }

    @Test func `a renewal that a sign-out overtook has no effect`() async throws {
        let (bench, account) = try await Bench.signedIn()
        bench.time.pass(.seconds(4_000))
        let gate = Gate()
        bench.transport.respond { [server = bench.server] request in
            let answer = server.handle(request)
            await gate.pass()
            return answer
        }
        let waiting = Task { try await account.accessToken() }
        await gate.arrival()
        let signOut = Task { try await account.signOut() }
        await account.reaches { $0 == .signedOut(.requested) }
        await gate.open()
        await #expect(throws: PresenceError.account(.notSignedIn)) { try await waiting.value }
        try await signOut.value
        expect(bench.store.session == nil && account.stateFeed.current == .signedOut(.requested))
    }

    @Test func `a cancelled caller does not cancel the renewal for the others`() async throws {
        let (bench, account) = try await Bench.signedIn()
        bench.time.pass(.seconds(4_000))
        let gate = Gate()
        bench.transport.respond { [server = bench.server] in
            await gate.pass()
            return server.handle($0)
        }
        let impatient = Task { try await account.accessToken() }
        let patient = Task { try await account.accessToken() }
        await gate.arrival()
        impatient.cancel()
        await gate.open()
        try await expect(patient.value.hasPrefix("a-1-"))
        guard case .failure(let error) = await impatient.result else {
            Issue.record("not cancelled")
            return
        }
        expect(error is CancellationError)
    }

    // MARK: A client's tokens

    @Test func `a client gets the same token until it asks again, then another`() async throws {
        let (bench, account) = try await Bench.signedIn()
        let provide = account.tokenProvider()
        let first = try await provide()
        expect(bench.server.count(Self.refresh), equals: 1)
        let second = try await provide()
        expect(first != second && bench.server.count(Self.refresh) == 2)
        try await expect(account.tokenProvider()(), equals: second, "another client has not seen it refused")
    }

    @Test func `without a signed-in user a client closes, and without a network it retries`() async throws {
        let bench = Bench(kept: Bench.kept)
        bench.goOffline()
        let account = bench.launch()
        let offline = await #expect(throws: PresenceError.self) { try await account.tokenProvider()() }
        expect(offline?.code, equals: .notConnected)
        try await account.signOut()
        let error = await #expect(throws: PresenceError.self) { try await account.tokenProvider()() }
        expect(error?.code, equals: .unauthorized)
    }

    @Test func `a client's URL is derived from the account's`() {
        func address(_ text: String) -> String {
            PresenceAccount(
                url: URL(string: text)!, store: MemoryTokenStore(), transport: FakeHTTPTransport()
            ).webSocketURL.absoluteString
        }
        expect(address("https://presence.example.org"), equals: "wss://presence.example.org/v1/ws")
        expect(address("http://127.0.0.1:8080/"), equals: "ws://127.0.0.1:8080/v1/ws")
        expect(address("https://example.org/presence"), equals: "wss://example.org/presence/v1/ws")
    }
}
