import Expectations
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Each address has a share of the places for passwords that are being hashed or wait for it.
@Suite struct PasswordPlacesTests {
    private let accounts: AccountWorld
    private var world: World { accounts.world }
    private let one = "203.0.113.1"
    private let another = "203.0.113.2"
    private let ana = ["email": "ana@example.org", "password": "correct horse", "newPassword": "another horse"]

    init() throws { accounts = try AccountWorld() }

    /// Tries to sign in as an unknown user, a different one each time, because attempts on one account are limited.
    private func tryToSignIn(_ number: Int, from address: String) -> SimulatedCall {
        let body = ["email": "nobody\(number)@example.org", "password": "wrong password"]
        return SimulatedCall("POST", "/v1/sessions", body, from: address, to: world.shards[0])
    }

    /// The places that an address may have when others hold `held` of them.
    private func share(besides held: Int = 0) -> Int {
        (Accounts.passwords.places(world.configuration) - held + 1) / 2
    }

    @Test func `an address has half of the places, and another address half of the rest`() throws {
        // Longer than the whole test.
        world.shards[0].workers.times = 5_000...5_000
        let first = share()
        let held = (0..<first).map { tryToSignIn($0, from: one) }
        let signUp = SimulatedCall("POST", "/v1/accounts", ana, from: one, to: world.shards[0])
        for refused in [tryToSignIn(100, from: one), signUp] {
            try world.run(until: "one more is refused") { refused.status == 429 }
            expect(refused.json["code"] as? String == "rate_limited" && refused.json["retryAfter"] as? Int == 1_000)
        }
        expect(world.shards[0].logic.metrics.limitsMet[.workPerAddress], equals: 2)
        let second = share(besides: first)
        let others = (0..<second).map { tryToSignIn(200 + $0, from: another) }
        let refused = tryToSignIn(300, from: another)
        try world.run(until: "one more is refused") { refused.status == 429 }
        expect(held.allSatisfy { $0.status == nil } && others.allSatisfy { $0.status == nil })
        // A client that hangs up frees its place, and so does a finished job.
        let places = try #require(world.shards[0].workers).places(of: Accounts.passwords)
        expect(places.held, equals: first + second)
        let gone = try #require(held.last)
        gone.leave()
        try world.run(until: "its place is free") { places.held == first + second - 1 }
        world.shards[0].workers.times = 1...1
        try world.run(until: "all are looked at") { (held.dropLast() + others).allSatisfy { $0.status == 401 } }
        expect(places.held, equals: 0)
        let next = SimulatedCall("POST", "/v1/accounts", ana, from: one, to: world.shards[0])
        try world.run(until: "there is an account") { next.status == 201 }
    }

    @Test func `a changed password is hashed in the share of its call`() throws {
        let token = try #require(try accounts.call("POST", "/v1/accounts", ana).json["accessToken"] as? String)
        _ = try accounts.mailToken("verify")
        world.shards[0].workers.times = 1_000...1_000
        let change = SimulatedCall(
            "POST", "/v1/me/password", ana, token: token, from: one, to: world.shards[0])
        let places = try #require(world.shards[0].workers).places(of: Accounts.passwords)
        let ran = world.shards[0].workers.ran
        try world.run(until: "the present one is looked at") { world.shards[0].workers.ran > ran }
        expect(places.held, equals: 1)
        try world.run(until: "the new one is hashed") { world.shards[0].workers.ran > ran + 1 }
        expect(places.held, equals: 1)
        try world.run(until: "it is changed") { change.status == 204 }
        expect(places.held, equals: 0)
    }
}
