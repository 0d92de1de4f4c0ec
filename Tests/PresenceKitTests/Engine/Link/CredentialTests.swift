import Testing

@testable import PresenceKit

/// The token and its renewal.
@Suite struct CredentialTests {
    private var credential = Credential()

    @Test mutating func `a token is fetched once, and is fresh for one attempt`() {
        holds(!credential.begin())
        credential.hold("t")
        #expect(credential.isFresh)
        holds(credential.begin())
        #expect(!credential.isFresh)
        #expect(credential.token == "t")
        credential.forget()
        holds(!credential.begin())
    }

    @Test mutating func `before its expiry another token is fetched, once at a time, with a later retry`() {
        credential.hold("old")
        holds(credential.expires(in: .seconds(60), at: .zero))
        #expect(credential.token == nil)
        holds(!credential.expires(in: .seconds(50), at: .seconds(10)))
        #expect(credential.refreshAt == .seconds(12.5))
        holds(credential.fetched(.failure(PresenceError(.tokenUnavailable, ""))) == nil)
        holds(!credential.retry(at: .seconds(12)))
        holds(credential.retry(at: .seconds(20)))
        #expect(credential.refreshAt == .seconds(30))
        holds(credential.fetched(.success("new")) == "new")
        credential.refreshed(true)
        #expect(credential.token == "new")
    }

    @Test mutating func `an unchanged token is not sent, and the provider is called rarely until it returns another`() {
        credential.hold("old")
        holds(credential.expires(in: .seconds(60), at: .zero))
        holds(credential.fetched(.success("old")) == nil)
        var asked: [Duration] = []
        while let next = credential.refreshAt, next < .seconds(60) {
            holds(credential.retry(at: next))
            asked.append(next)
            holds(credential.fetched(.success("old")) == nil)
        }
        #expect(asked.count < 20 && asked.first == .seconds(15))
        #expect(zip(asked, asked.dropFirst()).allSatisfy { $1 - $0 >= .seconds(1) })
        holds(credential.retry(at: credential.refreshAt!))
        #expect(credential.refreshAt == nil, "the server closes now")
    }

    @Test mutating func `expiry notices after each refresh lead to one fetch in each quarter of the remaining time`() {
        credential.hold("0")
        var (asked, uptime) = (0, Duration.zero)
        // Tokens of 8 s, whose expiry the server announces as soon as it has them.
        while uptime < .seconds(80), asked <= 42 {
            if credential.expires(in: .seconds(8), at: uptime) || credential.retry(at: credential.refreshAt ?? uptime) {
                asked += 1
                uptime = max(uptime, credential.refreshAt! - .seconds(2))
                holds(credential.fetched(.success("\(asked)")) == "\(asked)")
                credential.refreshed(true)
            }
        }
        #expect(asked <= 42)
    }

    @Test mutating func `a provider that does not return in time is not called twice at once`() {
        holds(credential.expires(in: .seconds(60), at: .zero))
        holds(!credential.retry(at: .seconds(15)))
        #expect(credential.refreshAt! > .seconds(15))
    }

    @Test mutating func `a rejected refresh token is not sent again`() {
        credential.hold("old")
        holds(credential.expires(in: .seconds(60), at: .zero))
        holds(credential.fetched(.success("bad")) == "bad")
        credential.refreshed(false)
        holds(credential.retry(at: .seconds(15)))
        holds(credential.fetched(.success("bad")) == nil)
        holds(credential.retry(at: .seconds(30)))
        holds(credential.fetched(.success("good")) == "good")
    }

    @Test mutating func `a token that the server rejected is not used again`() {
        holds(credential.expires(in: .seconds(2), at: .zero))
        #expect(credential.refreshAt == .seconds(1), "soon, but not at once")
        holds(credential.fetched(.success("new")) == "new")
        credential.refreshed(false)
        #expect(credential.token == nil)
        holds(credential.fetched(.success("late")) == nil)
    }
}
