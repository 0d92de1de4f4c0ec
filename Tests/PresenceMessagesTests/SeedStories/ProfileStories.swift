import Expectations
import Foundation
import PresenceAccounts
import PresenceKit
import PresenceMessages
import PresenceTesting
import Testing

/// REQUIREMENTS 000 and 001: the profile after the sign-up, and its later changes. The numbers are those of the rows.
@MainActor @Suite(.timeLimit(.minutes(1))) struct ProfileStories {
    private static let picture = Data([0xFF, 0xD8, 0xFF, 1])

    private func setup(_ ana: Newcomer) async throws -> ProfileSetupModel {
        ProfileSetupModel(
            currentUser: try await ana.user, users: ana.app.client, photos: ana.app.account, setup: ana.app.account)
    }

    private func form(_ ana: Newcomer, _ clock: TestClock) async -> (model: ProfileModel, run: Task<Void, Never>) {
        let model = ProfileModel(
            user: ana.id, users: ana.app.client, usernames: ana.app.account, photos: ana.app.account, clock: clock)
        let run = Task { await model.run() }
        await until { model.displayName == "ana.b" }
        return (model, run)
    }

    @Test func `000 1, 4, 10, 18: right after the sign-up the setup is needed, Continue saves, and it is done`()
        async throws
    {
        let ana = try await Newcomer()
        expect(ProfileSetupModel.isNeeded(for: ana.account))
        let model = try await setup(ana)
        model.displayName = " Ana Silva "
        await model.saveProfile()
        expect(model.profileSaved && model.errorMessage == nil)
        try await expect(ana.user.displayName, equals: "Ana Silva")
        expect(ProfileSetupModel.isNeeded(for: try #require(await ana.app.account.currentAccount)), equals: false)
    }

    @Test func `000 7, 21, 26, 55: skipSetup keeps the default name, the e-mail's prefix`() async throws {
        let ana = try await Newcomer()
        let model = try await setup(ana)
        expect(model.displayName, equals: "ana.b")
        await model.skipSetup()
        expect(model.profileSaved)
        try await expect(ana.user.displayName, equals: "ana.b")
        expect(ProfileSetupModel.isNeeded(for: try #require(await ana.app.account.currentAccount)), equals: false)
        expect(User.DisplayNameRule.standard(for: nil), equals: "User")
    }

    @Test func `000 2, 27, 28, 32, 34, 73: validateDisplayName on submission, a counter, and an input cut at 50`()
        async throws
    {
        let ana = try await Newcomer()
        let model = try await setup(ana)
        model.displayName = "   "
        expect(model.errorMessage, equals: nil, "not on each key stroke")
        await model.saveProfile()
        expect(model.errorMessage == "Display name cannot be empty" && !model.profileSaved)
        expect(
            User.DisplayNameRule.fault(in: String(repeating: "x", count: 51)),
            equals: "Display name must be 50 characters or less")
        model.displayName = String(repeating: "x", count: 60)
        expect(model.displayName.count == 50 && model.counter == "50/50" && model.isNearLimit)
        expect(ana.server.requests("updateProfile").isEmpty)
    }

    @Test func `000 9, 16, 17, 25: a failed save says so, and a retry succeeds`() async throws {
        let ana = try await Newcomer()
        let model = try await setup(ana)
        model.displayName = "Ana"
        ana.server.fail("updateProfile")
        await model.saveProfile()
        expect(model.errorMessage == "Failed to save profile. Please try again." && !model.profileSaved)
        await model.retry()
        expect(model.profileSaved && model.errorMessage == nil && !model.isLoading)
        try await expect(ana.user.displayName, equals: "Ana")
    }

    @Test func `000 3, 41, 45, 46, 71: a picture is optional; without one there are initials`() async throws {
        let ana = try await Newcomer()
        let model = try await setup(ana)
        try await expect(ana.user.displayInitials == "AN" && model.profileImageURL == nil)
        await model.photo?.upload(Data("no picture".utf8))
        expect(model.photo?.errorMessage, equals: "Failed to process image")
        ana.server.fail("PUT /v1/me/photo", with: PresenceError(.unavailable))
        await model.photo?.upload(Self.picture)
        expect(model.photo?.errorMessage, equals: "Failed to upload image")
        await model.photo?.retry()
        expect(model.profileImageURL != nil)
        try await expect(ana.user.profileImageURL, equals: model.profileImageURL)
    }

    @Test func `001 3, 21, 22, 31: a username is checked half a second after the last key`() async throws {
        let ana = try await Newcomer()
        ana.server.addAccount("bob", username: "bob")
        let clock = TestClock()
        let (model, run) = await form(ana, clock)
        for (name, isFree) in [("bo", nil), ("bob", false), ("bob.2", true)] as [(String, Bool?)] {
            model.username = name
            if isFree != nil {
                await clock.sleepers()
                clock.advance(by: .milliseconds(500))
            }
            await until { !model.isCheckingAvailability }
            expect(model.usernameAvailable, equals: isFree, "\(name)")
        }
        expect(ana.server.requests("GET /v1/usernames/bob").count, equals: 1)
        expect(ana.server.requests("GET /v1/usernames/bo").isEmpty, "malformed")
        run.cancel()
    }

    @Test func `001 2, 56, 57: a malformed or taken username has its text`() async throws {
        let ana = try await Newcomer()
        ana.server.addAccount("bob", username: "bob")
        for (name, text) in [
            ("ab", "Invalid username format. Use 3-30 characters, letters, numbers, periods, and underscores."),
            ("BOB", "This username is already taken."),
        ] {
            let error = await Newcomer.error { try await ana.app.account.take(name) }
            expect(error?.field == "username" && error?.localizedDescription == text)
        }
        try await expect(ana.user.username, equals: nil)
    }

    @Test func `001 4, 33, 71: a new username is reserved, and the old one released, in one step`() async throws {
        let ana = try await Newcomer(username: "ana")
        try await ana.app.account.take("ana.2")
        try await expect(ana.app.account.availability(ofUsername: "ana"), equals: .available)
        try await expect(ana.app.account.availability(ofUsername: "ana.2"), equals: .yours)
        expect(ana.server.requests("PUT /v1/me/username").count, equals: 1)
    }

    @Test func `001 8, 24 to 29, 61: only changes can be saved, and a success is shown`() async throws {
        let ana = try await Newcomer()
        let (model, run) = await form(ana, TestClock())
        expect(!model.hasChanges && !model.canSave)
        model.displayName = "Ana Silva"
        expect(model.hasChanges && model.canSave)
        await model.save()
        expect(model.showSuccess && !model.showError && !model.hasChanges)
        try await expect(ana.user.displayName, equals: "Ana Silva")
        run.cancel()
    }

    @Test func `001 43, 46, 78: a picture of more than 5 MB is not sent`() async throws {
        let ana = try await Newcomer()
        let (model, run) = await form(ana, TestClock())
        await model.photo?.upload(Self.picture + Data(count: 5 << 20))
        expect(model.photo?.errorMessage, equals: "Image is too large. Maximum size is 5MB.")
        expect(ana.server.requests("PUT /v1/me/photo").isEmpty)
        run.cancel()
    }
}
