import Expectations
import Testing

@testable import PresenceKit

/// The token and its renewal.
@Suite struct CredentialTests {
    private var credential = Credential()

    @Test mutating func `a token is fetched once, and is fresh for one attempt`() {
        expect(!credential.begin())
        credential.hold("t")
        expect(credential.isFresh)
        expect(credential.begin())
        expect(!credential.isFresh)
        expect(credential.token, equals: "t")
        credential.forget()
        expect(!credential.begin())
    }

    @Test mutating func `before its expiry another token is fetched, once at a time, with a later retry`() {
        credential.hold("old")
        expect(credential.expires(in: .seconds(60), at: .zero))
        expect(credential.token, equals: nil)
        expect(!credential.expires(in: .seconds(50), at: .seconds(10)))
        expect(credential.refreshAt, equals: .seconds(12.5))
        expect(credential.fetched(.failure(PresenceError(.tokenUnavailable, ""))), equals: nil)
        expect(!credential.retry(at: .seconds(12)))
        expect(credential.retry(at: .seconds(20)))
        expect(credential.refreshAt, equals: .seconds(30))
        expect(credential.fetched(.success("new")), equals: "new")
        credential.refreshed(true)
        expect(credential.token, equals: "new")
    }

    @Test mutating func `an unchanged token is not sent, and the provider is called rarely until it returns another`() {
        credential.hold("old")
        expect(credential.expires(in: .seconds(60), at: .zero))
        expect(credential.fetched(.success("old")), equals: nil)
        var asked: [Duration] = []
        while let next = credential.refreshAt, next < .seconds(60) {
            expect(credential.retry(at: next))
            asked.append(next)
            expect(credential.fetched(.success("old")), equals: nil)
        }
        expect(asked.count < 20 && asked.first == .seconds(15))
        expect(zip(asked, asked.dropFirst()).allSatisfy { $1 - $0 >= .seconds(1) })
        expect(credential.retry(at: credential.refreshAt!))
        expect(credential.refreshAt, equals: nil, "the server closes now")
    }

    @Test mutating func `expiry notices after each refresh lead to one fetch in each quarter of the remaining time`() {
        credential.hold("0")
        var (asked, uptime) = (0, Duration.zero)
        // Tokens of 8 s, whose expiry the server announces as soon as it has them.
        while uptime < .seconds(80), asked <= 42 {
            if credential.expires(in: .seconds(8), at: uptime) || credential.retry(at: credential.refreshAt ?? uptime) {
                asked += 1
                uptime = max(uptime, credential.refreshAt! - .seconds(2))
                expect(credential.fetched(.success("\(asked)")), equals: "\(asked)")
                credential.refreshed(true)
            }
        }
        expect(asked <= 42)
    }

    @Test mutating func `a provider that does not return in time is not called twice at once`() {
        expect(credential.expires(in: .seconds(60), at: .zero))
        expect(!credential.retry(at: .seconds(15)))
        expect(credential.refreshAt! > .seconds(15))
    }

    @Test mutating func `a rejected refresh token is not sent again`() {
        credential.hold("old")
        expect(credential.expires(in: .seconds(60), at: .zero))
        expect(credential.fetched(.success("bad")), equals: "bad")
        credential.refreshed(false)
        expect(credential.retry(at: .seconds(15)))
        expect(credential.fetched(.success("bad")), equals: nil)
        expect(credential.retry(at: .seconds(30)))
        expect(credential.fetched(.success("good")), equals: "good")
    }

    @Test mutating func `a token that the server rejected is not used again`() {
        expect(credential.expires(in: .seconds(2), at: .zero))
        expect(credential.refreshAt, equals: .seconds(1), "soon, but not at once")
        expect(credential.fetched(.success("new")), equals: "new")
        credential.refreshed(false)
        expect(credential.token, equals: nil)
        expect(credential.fetched(.success("late")), equals: nil)
    }
}
