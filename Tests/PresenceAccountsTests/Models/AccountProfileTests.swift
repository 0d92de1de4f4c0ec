import Expectations
import Foundation
import PresenceAccounts
import PresenceKit
import PresenceMessages
import PresenceTesting
import Testing

/// REQUIREMENTS 000 and 001: the forms of the profile with an account: setup, username, picture.
@MainActor @Suite(.timeLimit(.minutes(1))) struct AccountProfileTests {
    private static let ana = User(id: "ana", email: "ana.b@example.org", displayName: "ana.b", username: "ana.b")
    private static let picture = Data([0xFF, 0xD8, 0xFF, 1])
    private let clock = TestClock()
    private let server = InMemoryServer()
    private let app: PresenceApp
    private var account: PresenceAccount { app.account }
    private var users: PresenceClient { app.client }

    init() {
        server.addAccount("ana", email: "ana.b@example.org", displayName: "ana.b", username: "ana.b")
        app = server.app(as: "ana")
    }

    /// The names of the profile that were requested.
    private var names: [String?] {
        server.requests("updateProfile").map { ($0["changes"] as? [String: any Sendable])?["displayName"] as? String }
    }

    private func connected() async {
        for await state in app.client.connectionStates where state.isConnected { return }
    }

    private func opened() async -> (model: ProfileModel, run: Task<Void, Never>) {
        let model = ProfileModel(user: "ana", users: users, usernames: account, photos: account, clock: clock)
        let run = Task { await model.run() }
        await until { model.displayName == "ana.b" && model.username == "ana.b" }
        return (model, run)
    }

    // MARK: The first form

    @Test func `saving and skipping note that the setup is done`() async {
        let model = ProfileSetupModel(currentUser: Self.ana, users: users, setup: account)
        model.displayName = "Ana"
        await model.saveProfile()
        expect(model.profileSaved && names == ["Ana"] && server.requests("PATCH /v1/me").count == 1)
        await expect(account.currentAccount?.setupCompleted, equals: true)
        let second = ProfileSetupModel(currentUser: Self.ana, users: users, setup: account)
        await second.skipSetup()
        expect(second.profileSaved && server.requests("PATCH /v1/me").count == 2)
    }

    @Test func `who skips the form is not shown it again`() async throws {
        expect(ProfileSetupModel.isNeeded(for: try #require(await account.currentAccount)))
        let model = ProfileSetupModel(currentUser: Self.ana, users: users, setup: account)
        await model.skipSetup()
        expect(!ProfileSetupModel.isNeeded(for: try #require(await account.currentAccount)))
    }

    @Test func `a setup that cannot be stored shows an error, and can be retried`() async {
        let model = ProfileSetupModel(currentUser: Self.ana, users: users, setup: account)
        await connected()
        server.fail("PATCH /v1/me", with: PresenceError(.unavailable))
        await model.saveProfile()
        expect(model.errorMessage == "Failed to save profile. Please try again." && !model.profileSaved)
        await model.retry()
        expect(model.profileSaved && model.errorMessage == nil)
    }

    @Test func `without a connection the profile waits, and the setup is done`() async {
        let model = ProfileSetupModel(currentUser: Self.ana, users: users, setup: account)
        await connected()
        server.goOffline()
        await model.saveProfile()
        expect(model.profileSaved)
    }

    @Test func `a picture is uploaded from the first form, and skipping drops one in flight`() async {
        let model = ProfileSetupModel(currentUser: Self.ana, users: users, photos: account)
        await connected()
        server.delay = .seconds(3)
        let upload = Task { await model.photo?.upload(Self.picture) }
        await until { model.photo?.progressText == "Uploading... 50%" }
        server.delay = nil
        expect(!model.canContinue)
        await model.skipSetup()
        await upload.value
        expect(model.profileSaved && model.photo?.photo == nil && model.photo?.errorMessage == nil)
        expect(model.canContinue)
    }

    @Test func `the form's loops end when the user signs out, although the account continues`() async {
        let (_, run) = await opened()
        await users.signOut()
        await run.value
        await expect(account.currentAccount != nil)
    }

    @Test func `the form's loops end when the app is closed`() async {
        let (_, run) = await opened()
        await app.close()
        await run.value
    }

    // MARK: The username

    @Test func `a username is claimed, and given back when it is empty`() async throws {
        let (model, run) = await opened()
        model.username = "Ana.S"
        await clock.sleepers()
        clock.advance(by: .milliseconds(500))
        await until { model.canSave }
        await model.save()
        expect(model.showSuccess && !model.hasChanges && names.isEmpty)
        await expect(account.currentAccount?.username, equals: "Ana.S")
        model.username = ""
        expect(model.canSave && model.usernameError == nil)
        await model.save()
        expect(model.showSuccess && !model.hasChanges)
        await expect(account.currentAccount?.username, equals: nil)
        expect(server.requests("DELETE /v1/me/username").count, equals: 1)
        run.cancel()
    }

    @Test func `an answer for a name that was typed over is dropped`() async {
        let (model, run) = await opened()
        server.delay = .seconds(2)
        model.username = "admin"
        await clock.sleepers()
        clock.advance(by: .milliseconds(500))
        await server.clock.sleepers()
        model.username = "ana.s"
        server.delay = nil
        await clock.sleepers()
        clock.advance(by: .milliseconds(500))
        await until { model.usernameAvailable == true }
        server.clock.advance(by: .seconds(2))
        expect(model.usernameAvailable == true && model.usernameError == nil && model.canSave)
        expect(server.requests("GET /v1/usernames/admin").count, equals: 1)
        expect(server.requests("GET /v1/usernames/ana.s").count, equals: 1)
        run.cancel()
    }

    @Test func `a name that somebody else took in the meantime is told at the field`() async {
        let (model, run) = await opened()
        model.username = "ana.s"
        await clock.sleepers()
        clock.advance(by: .milliseconds(500))
        await until { model.canSave }
        server.addAccount("sam", username: "ana.s")
        await model.save()
        expect(model.usernameError == "This username is already taken." && model.usernameAvailable == false)
        expect(model.errorMessage == "This username is already taken." && !model.canSave && model.hasChanges)
        run.cancel()
    }

    @Test func `a name that was changed on another device is shown, unless one is being edited`() async throws {
        let (model, run) = await opened()
        try await server.app(as: "ana").account.claimUsername("elsewhere")
        await until { model.username == "elsewhere" }
        expect(!model.hasChanges)
        model.username = "mine"
        try await server.app(as: "ana").account.claimUsername("again")
        await until { model.isCheckingAvailability }
        expect(model.username, equals: "mine")
        model.discardChanges()
        await until { model.username == "again" || model.username == "elsewhere" }
        run.cancel()
    }

    // MARK: The picture

    @Test func `a picture is saved as soon as it is uploaded`() async {
        let (model, run) = await opened()
        await model.photo?.upload(Self.picture)
        expect(model.photoURL != nil && model.photoURL == model.photo?.photo?.url)
        expect(model.showSuccess && !model.hasChanges && model.photo?.isUploading == false)
        await model.photo?.remove()
        expect(model.photoURL == nil && !model.hasChanges && server.requests("DELETE /v1/me/photo").count == 1)
        run.cancel()
    }

    @Test func `while a picture is uploaded nothing is saved`() async {
        let (model, run) = await opened()
        model.displayName = "Ana"
        server.delay = .seconds(1)
        let upload = Task { await model.photo?.upload(Self.picture) }
        await server.clock.sleepers()
        expect(!model.canSave)
        model.photo?.cancel()
        await upload.value
        expect(model.canSave && model.photoURL == nil)
        run.cancel()
    }
}
