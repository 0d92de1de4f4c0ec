import Expectations
import Foundation
import PresenceKit
import Testing

/// REQUIREMENTS 000 and 001: rules and their texts.
@Suite struct RuleTests {
    @Test func `a display name has 1 to 50 characters after trimming`() {
        expect(User.DisplayNameRule.fault(in: ""), equals: "Display name cannot be empty")
        expect(User.DisplayNameRule.fault(in: " \n "), equals: "Display name cannot be empty")
        let most = String(repeating: "é", count: 50)
        expect(User.DisplayNameRule.fault(in: " \(most) "), equals: nil)
        expect(User.DisplayNameRule.fault(in: most + "x"), equals: "Display name must be 50 characters or less")
        expect(User.DisplayNameRule.trimmed("  Ana "), equals: "Ana")
    }

    @Test func `the default name is the part of the e-mail before the at sign`() {
        expect(User.DisplayNameRule.standard(for: "ana.b@example.org"), equals: "ana.b")
        for email in [nil, "", "@example.org", "  @x"] {
            expect(User.DisplayNameRule.standard(for: email), equals: "User")
        }
        expect(User.DisplayNameRule.standard(for: String(repeating: "a", count: 60) + "@x").count, equals: 50)
    }

    @Test(arguments: ["abc", "a.b_c", "ANA", "123", String(repeating: "x", count: 30)])
    func `a username is 3 to 30 letters, digits, periods and underscores`(name: String) {
        expect(User.UsernameRule.fault(in: name), equals: nil)
    }

    @Test(arguments: [
        "", "ab", ".ab", "ab.", "a..b", "a b", "aé1", "a-b", "ab@", "a`b", String(repeating: "x", count: 31),
    ])
    func `any other name is rejected, with the rule`(name: String) {
        expect(
            User.UsernameRule.fault(in: name),
            equals: "Invalid username format. Use 3-30 characters, letters, numbers, periods, and underscores.")
    }

    @Test func `a picture is a JPEG or PNG of 5 MiB at most`() {
        let png = Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])
        expect(Photo.Rule.fault(in: png), equals: nil)
        expect(Photo.Rule.fault(in: Data([0xFF, 0xD8, 0xFF]) + Data(count: (5 << 20) - 3)), equals: nil)
        expect(Photo.Rule.fault(in: png + Data(count: 5 << 20)), equals: "Image is too large. Maximum size is 5MB.")
        for other in [Data(), Data("GIF89a".utf8)] {
            expect(Photo.Rule.fault(in: other), equals: "Failed to process image")
        }
    }

    @Test func `errors are told in plain language, and what to do about them`() {
        let errors: [PresenceError] = [
            .userNotFound("u1"), .invalid(field: "displayName", reason: "This name cannot be used."),
            .fetchFailed(reason: "There is no connection."), .updateFailed(reason: "No.", outcomeUnknown: false),
            .updateFailed(reason: "No.", outcomeUnknown: true),
        ]
        for error in errors { expect(error.localizedDescription, equals: error.errorDescription) }
        expect(errors[0].localizedDescription, equals: "User not found.")
        expect(errors[0].recoverySuggestion, equals: nil)
        expect(errors[1].localizedDescription, equals: "This name cannot be used.")
        expect(errors[1].recoverySuggestion, equals: "Please change it and try again.")
        expect(errors[2].recoverySuggestion, equals: "Please try again.")
        expect(errors[3].recoverySuggestion, equals: "Please try again.")
        expect(errors[4].recoverySuggestion?.contains("may have worked"), equals: true)
    }

    @Test func `reading many users returns the missing ids`() {
        let users = Users([User(id: "a", displayName: "A")], missing: ["b"], isStale: true)
        expect(users.map(\.id) == ["a"] && users.missing == ["b"] && users.isStale)
    }
}
