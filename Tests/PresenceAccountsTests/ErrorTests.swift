import Expectations
import Foundation
import PresenceAccounts
import PresenceKit
import PresenceTesting
import Testing

/// The texts of errors for programs and for users.
@Suite struct ErrorTests {
    @Test(arguments: [
        (PresenceError.account(.unauthorized, reason: .invalidCredentials), "Invalid email or password."),
        (PresenceError.account(.conflict, reason: .emailTaken), "This email is already registered."),
        (
            PresenceError.account(.validationFailed, "Password must be at least 8 characters.", reason: .weakPassword),
            "Password must be at least 8 characters."
        ),
        (PresenceError.account(.notConnected), "Network error. Please check your connection."),
        (PresenceError.account(.connectionLost), "Network error. Please check your connection."),
        (PresenceError.account(.notFound), "User not found. Please sign up first."),
        (PresenceError.account(.init(rawValue: "new"), "what it says"), "An error occurred: what it says"),
        (PresenceError.account(.conflict, reason: .usernameTaken), "This username is already taken."),
        (
            PresenceError.account(.validationFailed, reason: .invalidUsername),
            "Invalid username format. Use 3-30 characters, letters, numbers, periods, and underscores."
        ),
        (PresenceError.account(.validationFailed, reason: .invalidEmail), "Please enter a valid email address."),
        (PresenceError.account(.tooLarge, reason: .photoTooLarge), "Image is too large. Maximum size is 5MB."),
        (PresenceError.account(.validationFailed, reason: .photoNotAnImage), "Failed to process image"),
        (
            PresenceError.account(.rateLimited, retryAfter: .milliseconds(1_200)),
            "Too many attempts. Please try again in 2 seconds."
        ),
        (
            PresenceError.account(.rateLimited, retryAfter: .seconds(600)),
            "Too many attempts. Please try again in 10 minutes."
        ),
        (
            PresenceError.account(.rateLimited, retryAfter: .seconds(Int64.max)),
            "Too many attempts. Please try again in 527040 minutes."
        ),
        (PresenceError.account(.unavailable), "The server is busy. Please try again later."),
        (PresenceError.account(.unauthorized), "You are not signed in."),
    ])
    func `people are told in plain language`(error: PresenceError, text: String) {
        expect(error.localizedDescription, equals: text)
        expect(error.recoverySuggestion, equals: nil, "the text has the advice")
    }

    @Test func `the error of a transport is in plain language too`() {
        for wasSent in [false, true] {
            let failure = HTTPFailure("URLError -1009", wasSent: wasSent)
            expect(failure.localizedDescription, equals: "Network error. Please check your connection.")
            expect(failure.recoverySuggestion?.contains("may have worked") ?? false, equals: wasSent)
        }
    }

    @Test func `every part of the server's error is there`() async throws {
        let bench = Bench()
        bench.transport.respond { _ in
            .json(
                #"{"type":"error","code":"validation_failed","field":"password","reason":"weak_password","message":"m","retryAfter":1500,"outcomeUnknown":true}"#,
                status: 422)
        }
        let account = bench.launch()
        let error = await #expect(throws: PresenceError.self) { try await account.resetPassword(email: "a@b.de") }
        expect(
            error,
            equals: PresenceError.account(
                .validationFailed, "m", reason: .weakPassword, field: "password", retryAfter: .milliseconds(1_500),
                outcomeUnknown: true))
        expect(error.map { "\($0)" }, equals: "validation_failed/weak_password: m (password)")
    }

    @Test(arguments: ["9223372036854775807", "-1"])
    func `any delay named by a proxy can be shown`(seconds: String) async throws {
        let bench = Bench()
        bench.transport.respond { _ in HTTPResponse(status: 503, headers: ["retry-after": seconds]) }
        let account = bench.launch()
        let error = await #expect(throws: PresenceError.self) { try await account.resetPassword(email: "a@b.de") }
        expect(error?.code, equals: .unavailable)
        expect(error?.localizedDescription.hasPrefix("The server is busy. Please try again in "), equals: true)
    }

    @Test func `a response from a proxy in front of the server names the delay`() async throws {
        let bench = Bench()
        bench.transport.respond { _ in HTTPResponse(status: 503, headers: ["retry-after": "7"]) }
        let account = bench.launch()
        let error = await #expect(throws: PresenceError.self) { try await account.resetPassword(email: "a@b.de") }
        expect(error?.code == .unavailable && error?.retryAfter == .seconds(7))
    }
}
