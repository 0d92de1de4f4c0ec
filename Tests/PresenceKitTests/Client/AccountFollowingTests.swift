import Expectations
import Foundation
import PresenceProtocol
import PresenceTesting
import Testing

@testable import PresenceAccounts
@testable import PresenceKit

/// A client follows the session of an account without calls of the app.
@Suite(.timeLimit(.minutes(1))) struct AccountFollowingTests {
    private let dialler = ScriptedDialler()
    private let transport = FakeHTTPTransport()
    private let account: PresenceAccount
    private let client: PresenceClient

    init() {
        transport.respond { request in
            guard request.method == "POST" else { return HTTPResponse(status: 204) }
            let body = try JSONSerialization.jsonObject(with: request.body ?? Data()) as? [String: Any]
            let user = (body?["email"] as? String ?? body?["refreshToken"] as? String ?? "").prefix(1)
            let tokens =
                #"{"user":"\#(user)","accessToken":"\#(user)-token","refreshToken":"\#(user)","expiresIn":3600000,"account":{"user":"\#(user)","email":"\#(user)@x.org"}}"#
            return .json(tokens)
        }
        account = PresenceAccount(
            url: URL(string: "https://presence.example.org")!, store: FakeTokenStore(), transport: transport)
        client = PresenceClient.scripted(dialler, token: account.tokenProvider())
        account.stateFeed.add(FollowingClient(client))
    }

    private func signIn(_ user: String) async throws {
        try await account.signIn(email: "\(user)@x.org", password: "correct horse")
    }

    private func states(until isWanted: (ConnectionState) -> Bool) async {
        for await state in client.connectionStates where isWanted(state) { return }
    }

    @Test func `a client that closed without a signed-in user connects after the sign-in`() async throws {
        client.connect()
        await states { $0.isClosed }
        await expect(client.connectionState, equals: .closed(PresenceError(.unauthorized, "no user is signed in")))
        try await signIn("a")
        await expect(dialler.next().welcome(user: "a")?.token, equals: "a-token")
        await states { $0 == .live }
    }

    @Test(arguments: [false, true])
    func `a sign-out deletes the user's data, and the next sign-in continues`(appSignsOutToo: Bool) async throws {
        try await signIn("a")
        client.connect()
        let first = await dialler.next()
        await first.welcome(user: "a")
        await states { $0 == .live }
        try await account.signOut()
        await expect(client.me.user, equals: nil)
        await expect(first.message()?.body, equals: .disconnect)
        if appSignsOutToo { await client.signOut() }
        await expect(client.connectionState, equals: .closed(nil))
        for user in ["a", "b"] {
            try await signIn(user)
            let next = await dialler.next()
            await expect(next.welcome(user: UserID(user)!)?.token, equals: "\(user)-token")
            while await client.me.user != user { await Task.yield() }
            try await account.signOut()
            await expect(client.me.user, equals: nil)
        }
    }

    @Test func `another user's sign-in changes the user, and leaves no data of the former one`() async throws {
        try await signIn("a")
        client.connect()
        await dialler.next().welcome(user: "a")
        await states { $0 == .live }
        try await signIn("b")
        await expect(client.me.user, equals: nil)
        await expect(dialler.next().welcome(user: "b")?.token, equals: "b-token")
        while await client.me.user != "b" { await Task.yield() }
    }

    @Test(arguments: ["a", "b"])
    func `after the server has ended the session, pending writes stay for the same user only`(
        next: String
    ) async throws {
        try await signIn("a")
        client.connect()
        let connection = await dialler.next()
        await connection.welcome(user: "a")
        await states { $0 == .live }
        connection.end(code: 1001)
        await states { $0 != .live }
        try await client.updateProfile(displayName: .set("Ana"))
        await account.forget(.refused(.tokenExpired))
        await expect(client.pendingProfileChanges.waiting != nil)
        try await signIn(next)
        await expect(client.pendingProfileChanges.waiting == nil, equals: next == "b")
    }

    @Test func `a client that was never used does not connect after a sign-in`() async throws {
        try await signIn("a")
        try await signIn("b")
        await expect(client.connectionState, equals: .idle)
    }

    @Test func `without a network there is no token, which is independent of the sign-in`() async throws {
        try await signIn("a")
        transport.respond { _ in throw HTTPFailure("offline", wasSent: false) }
        await account.end(access: "a-token")
        client.connect()
        await states { if case .reconnecting = $0 { true } else { false } }
        let error = await #expect(throws: PresenceError.self) { try await client.token(of: 0) }
        expect(error?.code, equals: .notConnected)
        expect(error?.localizedDescription, equals: "There is no connection to the server.")
    }

    @Test func `an account does not retain a client that the app released`() async throws {
        weak var weakly: PresenceClient?
        do {
            let other = PresenceClient.scripted(ScriptedDialler())
            account.stateFeed.add(FollowingClient(other))
            weakly = other
        }
        expect(weakly == nil)
        try await signIn("a")
    }
}

extension PresenceAccount {
    /// Drops its access token.
    fileprivate func end(access: String) { session?.access = nil }
}
