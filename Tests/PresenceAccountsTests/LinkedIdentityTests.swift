import Expectations
import Foundation
import PresenceKit
import PresenceTesting
import Testing

@testable import PresenceAccounts

/// A user's identities at providers.
@Suite struct LinkedIdentityTests {
    @Test func `identities are linked, listed and unlinked`() async throws {
        let (bench, account) = try await Bench.signedIn()
        try await expect(account.identities().isEmpty)
        try await expect(account.link(provider: "apple", idToken: "good").map(\.provider), equals: ["apple"])
        let both = try await account.link(provider: "my own", idToken: "good", nonce: "n")
        expect(
            both.map(\.email) == ["ana@example.org", "ana@example.org"]
                && both[1].linkedAt == Date(timeIntervalSince1970: 1))
        expect(bench.server.body("POST /v1/me/identities")?["nonce"] as? String, equals: "n")
        let taken = await #expect(throws: PresenceError.self) {
            try await account.link(provider: "a", idToken: "other")
        }
        expect(taken?.code == .conflict && taken?.reason == .identityTaken)
        try await account.unlink(provider: "my own")
        let last = await #expect(throws: PresenceError.self) { try await account.unlink(provider: "apple") }
        expect(last?.reason, equals: .lastSignIn)
        try await expect(account.identities().map(\.provider), equals: ["apple"])
    }
}
