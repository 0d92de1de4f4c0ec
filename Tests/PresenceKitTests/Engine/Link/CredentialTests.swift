import Testing

@testable import PresenceKit

/// The token, and its replacement.
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

    @Test mutating func `before it expires another is fetched, once at a time, and tried once more later`() {
        credential.hold("old")
        holds(credential.expires(in: .seconds(60), at: .zero))
        #expect(credential.token == nil)
        holds(!credential.expires(in: .seconds(50), at: .seconds(10)))
        #expect(credential.refreshAt == .seconds(22.5))
        holds(credential.fetched(.failure(PresenceError(.tokenUnavailable, ""))) == nil)
        holds(!credential.retry(at: .seconds(22)))
        holds(credential.retry(at: .seconds(22.5)))
        #expect(credential.refreshAt == nil)
        holds(credential.fetched(.success("new")) == "new")
        credential.refreshed(true)
        #expect(credential.token == "new")
    }

    @Test mutating func `one that the server refused is not used again`() {
        holds(credential.expires(in: .seconds(2), at: .zero))
        #expect(credential.refreshAt == .seconds(1), "soon, but not at once")
        holds(credential.fetched(.success("new")) == "new")
        credential.refreshed(false)
        #expect(credential.token == nil)
        holds(credential.fetched(.success("late")) == nil)
    }
}
