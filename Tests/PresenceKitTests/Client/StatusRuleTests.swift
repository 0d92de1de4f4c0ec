import Expectations
import Testing

@testable import PresenceKit

/// The rules of a status, applied before anything is stored or sent: by a client.
@Suite(.timeLimit(.minutes(1))) struct StatusRuleTests {
    private func error(_ body: () async throws -> Void) async -> PresenceError? {
        do {
            try await body()
            return nil
        } catch {
            return error as? PresenceError
        }
    }

    @Test(
        arguments: [
            .zero, .seconds(-1), .milliseconds(999), .seconds(30 * 86_400) + .nanoseconds(1), .seconds(Int64.max),
            .seconds(Int64.min),
        ] as [Duration])
    func `a status is cleared after at least a second and at most 30 days`(time: Duration) async {
        let client = PresenceClient.scripted(ScriptedDialler())
        let error = await error { try await client.setStatus(.busy, text: .keep, clearAfter: time) }
        expect(error?.code == .validationFailed && error?.field == "clearAfter")
        expect(error?.localizedDescription, equals: "This time cannot be used.")
        await expect(client.connectionState, equals: .idle, "nothing was begun for it")
    }

    @Test func `the limits themselves are valid, and a text has at most 140 characters`() async throws {
        for bound in [
            PresenceKit.ChosenStatus.Rule.clearing.lowerBound, PresenceKit.ChosenStatus.Rule.clearing.upperBound,
        ] {
            try PresenceKit.ChosenStatus.Rule.check(text: "lunch", clearAfter: bound)
        }
        try PresenceKit.ChosenStatus.Rule.check(
            text: .set(String(repeating: "é", count: PresenceKit.ChosenStatus.Rule.maximumCharacters)))
        let text = PresenceKit.Change<String>.set(String(repeating: "x", count: 141))
        let client = PresenceClient.scripted(ScriptedDialler())
        let error = await error { try await client.setStatus(.busy, text: text, clearAfter: nil) }
        expect(error?.code == .validationFailed && error?.field == "text")
    }
}
