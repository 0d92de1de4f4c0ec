import Expectations
import Foundation
import PresenceKit
import PresenceTesting
import Testing

@testable import PresenceAccounts

/// Sign-up, sign-in and sign-out.
@Suite(.timeLimit(.minutes(1))) struct SigningTests {
    @Test func `who signs up is signed in, and the session is kept`() async throws {
        let bench = Bench()
        let account = bench.launch()
        await account.reaches { $0 == .signedOut(.notSignedIn) }
        let made = try await account.signUp(
            email: " ana@example.org ", password: "correct horse", displayName: "Ana", username: nil)
        expect(made, equals: .signedIn(Bench.ana))
        await expect(account.currentAccount == Bench.ana && bench.store.session?.refreshToken == "r-2-0")
        await account.reaches { $0 == .signedIn(Bench.ana, .live) }
        let body = try #require(bench.server.body("POST /v1/accounts"))
        expect(body["email"] as? String == "ana@example.org" && body["displayName"] as? String == "Ana")
        expect(body["device"] as? [String: String], equals: ["kind": "phone", "name": "Ana's phone"])
        expect(body["username"] == nil)
        try await expect(account.currentUser().email, equals: "ana@example.org")
    }

    @Test func `an e-mail that is taken is reported, and the user is not signed in`() async throws {
        let bench = Bench()
        let account = bench.launch()
        let error = await #expect(throws: PresenceError.self) {
            try await account.signUp(email: "taken@example.org", password: "correct horse")
        }
        expect(error?.code == .conflict && error?.reason == .emailTaken)
        expect(error?.localizedDescription, equals: "This email is already registered.")
        await expect(account.currentAccount == nil && bench.store.session == nil)
    }

    @Test func `a provider's token signs in`() async throws {
        let bench = Bench()
        let account = bench.launch()
        let error = await #expect(throws: PresenceError.self) {
            try await account.signIn(provider: "apple", idToken: "bad")
        }
        expect(error?.reason == .invalidCredentials && bench.store.session == nil)
        try await expect(
            account.signIn(provider: "apple", idToken: "good", nonce: "n", displayName: "Ana"), equals: Bench.ana)
        let body = try #require(bench.server.body("POST /v1/sessions"))
        expect(body["provider"] as? String == "apple" && body["nonce"] as? String == "n")
        expect(body["displayName"] as? String == "Ana" && body["email"] == nil)
        expect(body["device"] as? [String: String], equals: ["kind": "phone", "name": "Ana's phone"])
    }

    @Test func `a sign-up that the server does not tell of signs nobody in, and nobody out`() async throws {
        let bench = Bench()
        bench.server.change { $0.hidesExisting = true }
        let account = bench.launch()
        let outcome = try await account.signUp(email: "ana@example.org", password: "correct horse")
        expect(outcome == .mailSent && outcome.account == nil)
        await expect(account.currentAccount == nil && bench.store.session == nil)
        expect(bench.server.count("POST /v1/accounts"), equals: 1)
        try await account.signIn(email: "ana@example.org", password: "correct horse")
        try await expect(account.signUp(email: "bob@example.org", password: "correct horse"), equals: .mailSent)
        await expect(account.currentAccount == Bench.ana && bench.store.session?.refreshToken == "r-2-0")
    }

    @Test func `a sign-up whose answer was lost is the same one when it is repeated`() async throws {
        let bench = Bench()
        let account = bench.launch()
        // The server handles both attempts of the first call, but the responses are lost.
        bench.transport.respond { [server = bench.server] in
            _ = server.handle($0)
            throw HTTPFailure("lost", wasSent: true)
        }
        let error = await #expect(throws: PresenceError.self) {
            try await account.signUp(email: "ana@example.org", password: "correct horse")
        }
        expect(error?.code == .connectionLost && error?.outcomeUnknown == true)
        bench.reach()
        try await account.signUp(email: "ana@example.org", password: "correct horse")
        let ids = bench.server.change { state in
            Set(state.requests.filter { $0.line == "POST /v1/accounts" }.map { $0.body["idempotency"] as? String })
        }
        expect(ids.count == 1 && !ids.contains(nil) && bench.server.count("POST /v1/accounts") == 3)
        expect(bench.server.change { $0.signUps.count }, equals: 1)
    }

    @Test func `a wrong password signs no user in or out`() async throws {
        let (bench, account) = try await Bench.signedIn()
        let error = await #expect(throws: PresenceError.self) {
            try await account.signIn(email: "ana@example.org", password: "wrong")
        }
        expect(error?.reason, equals: .invalidCredentials)
        expect(error?.localizedDescription, equals: "Invalid email or password.")
        await expect(account.currentAccount == Bench.ana && bench.store.session != nil)
    }

    @Test func `another sign-in takes the place of the former session, which ends on the server`() async throws {
        let (bench, account) = try await Bench.signedIn()
        try await account.signIn(email: "ana@example.org", password: "correct horse")
        expect(bench.store.session?.refreshToken, equals: "r-2-0")
        while bench.server.change({ $0.grants[1] }) != nil { await Task.yield() }
        try await expect(account.accessToken().hasPrefix("a-2-"))
    }

    @Test func `a former session whose access token has expired, or never came, ends on the server too`() async throws {
        let (expired, account) = try await Bench.signedIn()
        expired.time.pass(.seconds(4_000))
        try await account.signIn(email: "ana@example.org", password: "correct horse")
        while expired.server.change({ $0.grants[1] }) != nil { await Task.yield() }

        let missing = Bench(kept: Bench.kept)
        missing.goOffline()
        let other = missing.launch()
        await #expect(throws: PresenceError.self) { try await other.accessToken() }
        missing.reach()
        try await other.signIn(email: "ana@example.org", password: "correct horse")
        while missing.server.change({ $0.grants[1] }) != nil { await Task.yield() }
        expect(missing.store.session?.refreshToken, equals: "r-2-0")
    }

    @Test func `a sign-out ends the session here and on the server`() async throws {
        let (bench, account) = try await Bench.signedIn()
        try await account.signOut()
        await account.reaches { $0 == .signedOut(.requested) }
        expect(bench.store.session == nil && bench.server.change { $0.grants.isEmpty })
        await #expect(throws: PresenceError.account(.notSignedIn)) { try await account.accessToken() }
    }

    @Test func `a sign-out works without a network`() async throws {
        let (bench, account) = try await Bench.signedIn()
        bench.goOffline()
        try await account.signOut()
        expect(bench.store.session, equals: nil)
        expect(account.stateFeed.current, equals: .signedOut(.requested))
        let next = bench.launch()
        await next.reaches { $0 == .signedOut(.notSignedIn) }
    }

    @Test func `an offline sign-out reaches the server later, after growing pauses`() async throws {
        let (bench, account) = try await Bench.signedIn()
        bench.goOffline()
        try await account.signOut()
        for _ in 1...3 { await bench.naps.wake() }
        while await bench.naps.wanted.count < 4 { await Task.yield() }
        await expect(bench.naps.wanted, equals: [5, 10, 20, 40].map { .seconds($0) })
        expect(bench.server.change { $0.grants.count } == 1 && bench.store.session == nil)
        bench.reach()
        await bench.naps.wake()
        while bench.server.change({ !$0.grants.isEmpty }) { await Task.yield() }
        while try bench.store.loadFarewells() != [] { await Task.yield() }
    }

    @Test(arguments: [false, true])
    func `an offline sign-out reaches the server after a later launch or sign-in`(isLaunched: Bool) async throws {
        let (bench, account) = try await Bench.signedIn()
        bench.goOffline()
        try await account.signOut()
        try expect(bench.store.loadFarewells(), equals: ["r-1-1"])
        bench.reach()
        let next = isLaunched ? bench.launch() : nil
        if next == nil {
            try await account.signIn(email: "ana@example.org", password: "correct horse")
        }
        while bench.server.change({ $0.grants[1] != nil }) { await Task.yield() }
        while try bench.store.loadFarewells() != [] { await Task.yield() }
        expect(bench.server.change { $0.grants.keys.sorted() }, equals: isLaunched ? [] : [2])
        withExtendedLifetime(next) {}
    }

    @Test func `a sign-out after the access token has expired still reaches the server`() async throws {
        let (bench, account) = try await Bench.signedIn()
        bench.time.pass(.seconds(4_000))
        try await account.signOut()
        expect(bench.server.change { $0.grants.isEmpty } && bench.store.session == nil)
    }

    @Test func `a sign-out that cannot be stored throws, and changes nothing`() async throws {
        let (bench, account) = try await Bench.signedIn()
        bench.store.failure = CocoaError(.fileWriteNoPermission)
        let error = await #expect(throws: PresenceError.self) { try await account.signOut() }
        expect(error?.code, equals: .storageFailed)
        await expect(account.currentAccount == Bench.ana && bench.server.change { $0.grants.count == 1 })
    }

    @Test func `all devices are signed out, if the server can be reached`() async throws {
        let (bench, account) = try await Bench.signedIn()
        bench.goOffline()
        let error = await #expect(throws: PresenceError.self) { try await account.signOut(.allDevices) }
        expect(error?.code, equals: .notConnected)
        await expect(account.currentAccount, equals: Bench.ana)
        bench.reach()
        try await account.signOut(.allDevices)
        expect(account.stateFeed.current == .signedOut(.requested) && bench.server.change { $0.grants.isEmpty })
    }

    @Test func `another device is signed out by its id`() async throws {
        let (bench, account) = try await Bench.signedIn()
        let sessions = try await account.sessions()
        expect(sessions.map(\.id) == ["s-1", "s-9"] && sessions.map(\.isCurrent) == [true, false])
        expect(sessions[0].name == "Ana's" && sessions[0].lastUsedAt == Date(timeIntervalSince1970: 2))
        try await account.signOut(.session("s-9"))
        expect(bench.server.lines.last, equals: "DELETE /v1/sessions/s-9")
        await expect(account.currentAccount, equals: Bench.ana)
        let error = await #expect(throws: PresenceError.self) { try await account.signOut(.session("a/b")) }
        expect(error?.code == .notFound && bench.server.lines.last == "DELETE /v1/sessions/a%2Fb")
    }

    @Test func `a sign-in that a sign-out overtook has no effect`() async throws {
        let bench = Bench()
        let account = bench.launch()
        let gate = Gate()
        bench.transport.respond { [server = bench.server] request in
            let answer = server.handle(request)
            if request.url.path == "/v1/sessions" { await gate.pass() }
            return answer
        }
        let signIn = Task { try await account.signIn(email: "ana@example.org", password: "correct horse") }
        await gate.arrival()
        try await account.signOut()
        await gate.open()
        guard case .failure(let error) = await signIn.result else {
            Issue.record("signed in")
            return
        }
        expect(error is CancellationError && bench.store.session == nil)
        while bench.server.change({ $0.grants[2] }) != nil { await Task.yield() }
    }

    @Test func `the end of the former session does not cancel a sign-in`() async throws {
        let (bench, account) = try await Bench.signedIn()
        bench.time.pass(.seconds(4_000))
        let gate = Gate()
        bench.transport.respond { [server = bench.server] request in
            let answer = server.handle(request)
            if request.url.path == "/v1/sessions" { await gate.pass() }
            return answer
        }
        async let signIn = account.signIn(email: "ana@example.org", password: "correct horse")
        await gate.arrival()
        bench.server.change { $0.grants[1] = nil }
        await #expect(throws: PresenceError.self) { try await account.accessToken() }
        expect(account.stateFeed.current, equals: .signedOut(.refused(.tokenExpired)))
        await gate.open()
        try await expect(signIn == Bench.ana && bench.store.session?.refreshToken == "r-2-0")
        expect(account.stateFeed.current, equals: .signedIn(Bench.ana, .live))
    }

    @Test func `a session that cannot be stored is not used`() async throws {
        let bench = Bench()
        let account = bench.launch()
        await account.reaches { $0 == .signedOut(.notSignedIn) }
        bench.store.failure = CocoaError(.fileWriteOutOfSpace)
        let error = await #expect(throws: PresenceError.self) {
            try await account.signIn(email: "ana@example.org", password: "correct horse")
        }
        expect(error?.code, equals: .storageFailed)
        expect(error?.localizedDescription, equals: "The sign-in could not be kept on this device.")
        expect(account.stateFeed.current, equals: .signedOut(.notSignedIn))
        while bench.server.change({ $0.grants[2] }) != nil { await Task.yield() }
    }

    @Test func `no log line and no description contains a token or a password`() async throws {
        let lines = Lines()
        let bench = Bench(kept: Bench.kept)
        bench.transport.respond { request in
            let path = request.url.path
            return path.hasSuffix("refresh") ? .error(500, "internal") : .error(401, "unauthorized")
        }
        let account = PresenceAccount(
            url: URL(string: "https://presence.example.org")!, store: bench.store, device: Device(),
            configuration: .init(), transport: bench.transport, logger: PresenceLogger { lines.add($1) },
            uptime: { .zero })
        await #expect(throws: PresenceError.self) { try await account.accessToken() }
        await #expect(throws: PresenceError.self) { try await account.signIn(email: "a@b.de", password: "hunter22") }
        let text = lines.all.joined() + "\(Bench.kept)" + String(reflecting: Bench.kept)
        expect(!lines.all.isEmpty && !text.contains("r-1-0") && !text.contains("hunter22"))
    }

    /// @unchecked: `lines` is only touched with the lock.
    private final class Lines: @unchecked Sendable {
        private let lock = NSLock()
        private var lines: [String] = []
        var all: [String] { lock.withLock { lines } }
        func add(_ line: String) { lock.withLock { lines.append(line) } }
    }
}
