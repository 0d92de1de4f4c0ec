import Expectations
import Foundation
import PresenceAccounts
import PresenceProtocol
import Testing

@testable import PresenceKit

/// Fetching, refreshing and rejecting tokens with a client; the test plays the server.
@Suite(.timeLimit(.minutes(1))) struct ClientTokenTests {
    private let dialler = ScriptedDialler()
    private let time = TestTime()

    @Test func `a fixed token is rejected once, and the client closes`() async {
        let client = PresenceClient.scripted(dialler, time, tokenIsFixed: true)
        var states = client.connectionStates.makeAsyncIterator()
        client.connect()
        let server = await dialler.next()
        server.accept()
        let connect = await server.message()
        server.deliver(.refusal(connect?.id, .unauthorized))
        server.end(code: 4001)
        var state = await states.next()
        while let each = state, !each.isClosed {
            if case .reconnecting = each { break }
            state = await states.next()
        }
        guard case .closed(let error) = state else {
            Issue.record("\(String(describing: state))")
            return
        }
        expect(error?.code, equals: .unauthorized)
    }

    @Test func `a fixed token is not sent again when it is about to expire`() async throws {
        let tokens = Tokens()
        let client = PresenceClient.scripted(dialler, time, tokenIsFixed: true) { await tokens.next() }
        client.connect()
        let server = await dialler.next()
        await server.welcome()
        server.deliver(.tokenExpiring(expiresIn: 60_000))
        // A refresh would follow the first of them.
        for _ in 1...3 {
            let call = Task { try await client.setStatus(.busy) }
            let request = await server.message()
            try #require(request?.body == .status(.init(status: .busy)))
            server.deliver(.ok(id: try #require(request?.id)))
            _ = try await call.value
        }
        await expect(tokens.next(), equals: "token 2", "the provider was called once")
    }

    @Test func `a token provider that never returns is cancelled and called again`() async {
        let (tokens, cancellations) = (Tokens(), AsyncStream<Void>.makeStream())
        let client = PresenceClient.scripted(
            dialler, time,
            token: {
                guard await tokens.next() == "token 1" else { return "good" }
                await withTaskCancellationHandler {
                    // Never returns, and ends when it is cancelled.
                    for await _ in AsyncStream<Void>.makeStream().stream {}
                } onCancel: {
                    cancellations.continuation.yield()
                }
                throw CancellationError()
            })
        var states = client.connectionStates.makeAsyncIterator()
        client.connect()
        var state = await states.next()
        while state == .idle { state = await states.next() }
        expect(state, equals: .connecting)
        time.advance(by: .seconds(60))
        while let each = state {
            if case .reconnecting(_, let why) = each {
                expect(why.code, equals: .tokenUnavailable)
                break
            }
            state = await states.next()
        }
        time.advance(by: .milliseconds(250))
        await expect(dialler.next().welcome()?.token, equals: "good")
        for await _ in cancellations.stream { break }
    }

    @Test func `a provider that has no valid token closes the client`() async {
        let client = PresenceClient.scripted(dialler, time, token: { throw PresenceError(.unauthorized, "no session") })
        var states = client.connectionStates.makeAsyncIterator()
        client.connect()
        while let state = await states.next(), !state.isClosed {}
        await expect(client.connectionState, equals: .closed(PresenceError(.unauthorized, "no session")))
    }

    @Test func `the server's clock continues without the client`() async {
        let client = PresenceClient.scripted(dialler, time)
        client.connect()
        let server = await dialler.next()
        var states = client.connectionStates.makeAsyncIterator()
        await server.welcome()
        while let state = await states.next(), state != .live {}
        let clock = await client.serverTime
        let (first, now) = (clock.now, await client.serverNow)
        expect(first, equals: now)
        time.advance(by: .seconds(7))
        expect(abs(clock.now.timeIntervalSince(first) - 7) < 0.001)
        expect(clock.now, equals: await client.serverNow)
    }

    @Test func `the token provider is called again when a token was rejected`() async {
        let tokens = Tokens()
        let client = PresenceClient.scripted(dialler, time, token: { await tokens.next() })
        client.connect()
        let first = await dialler.next()
        await expect(first.welcome()?.token, equals: "token 1")
        first.end(code: 4002)
        var states = client.connectionStates.makeAsyncIterator()
        while let state = await states.next() {
            if case .reconnecting = state { break }
        }
        time.advance(by: .milliseconds(250))
        let second = await dialler.next()
        await expect(second.welcome()?.token, equals: "token 2")
        second.deliver(.tokenExpiring(expiresIn: 60_000))
        await expect(second.message()?.body, equals: .refresh(token: "token 3"))
    }

    @Test func `a provider that caches its token can see when a new one is wanted`() async {
        let wishes = AsyncStream<Bool>.makeStream()
        let client = PresenceClient.scripted(
            dialler, time,
            token: {
                wishes.continuation.yield(PresenceClient.wantsNewToken)
                return PresenceClient.wantsNewToken ? "new" : "kept"
            })
        client.connect()
        let server = await dialler.next()
        await expect(server.welcome()?.token, equals: "kept")
        server.deliver(.tokenExpiring(expiresIn: 60_000))
        await expect(server.message()?.body, equals: .refresh(token: "new"))
        await client.signOut()
        client.connect()
        await expect(dialler.next().welcome()?.token, equals: "kept")
        var wished = wishes.stream.makeAsyncIterator()
        for wish in [false, true, false] { await expect(wished.next(), equals: wish) }
    }

    private struct Offline: Error {}

    @Test(arguments: [Offline(), PresenceError.account(.unauthorized, reason: .tokenExpired)] as [any Error])
    func `a provider's own error or an account's is reported, and it is called again`(error: any Error) async {
        let tokens = Tokens()
        let client = PresenceClient.scripted(
            dialler, time,
            token: {
                guard await tokens.next() != "token 1" else { throw error }
                return "good"
            })
        var states = client.connectionStates.makeAsyncIterator()
        client.connect()
        var state = await states.next()
        while state == .idle || state == .connecting { state = await states.next() }
        guard case .reconnecting(_, let why) = state else {
            Issue.record("\(String(describing: state))")
            return
        }
        expect(why.code, equals: .tokenUnavailable)
        time.advance(by: .milliseconds(250))
        await expect(dialler.next().welcome()?.token, equals: "good")
    }
}

/// Returns numbered tokens.
private actor Tokens {
    private var count = 0

    func next() -> String {
        count += 1
        return "token \(count)"
    }
}
